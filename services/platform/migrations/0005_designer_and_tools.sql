-- Runs that remember their version, automations that the Runner runs, and tools in parts that can be streamed.

-- An automation without a crew of its own runs on another one's, which is one of the platform's own organization.
alter table deployments
  add column runs_on int references deployments check (runs_on <> id),
  drop constraint deployments_check,
  add constraint deployments_online_is_reachable
    check (status <> 'Crew is Online' or url is not null or runs_on is not null);

create function check_deployment() returns trigger language plpgsql as $$
begin
  if not exists (
    select from project_versions where id = new.project_version_id and published_at is not null) then
    raise exception 'project version % is not published: only published versions are deployed', new.project_version_id
      using errcode = 'check_violation';
  end if;
  if new.runs_on is not null and not exists (
    select from deployments d join organizations o on o.id = d.organization_id
    where d.id = new.runs_on and d.runs_on is null and o.internal) then
    raise exception 'deployment % can not run others: it is not a crew of the internal organization', new.runs_on
      using errcode = 'check_violation';
  end if;
  return new;
end $$;

create trigger deployments_checked before insert or update of project_version_id, runs_on on deployments
  for each row execute function check_deployment();

create index deployments_version on deployments (project_version_id);

-- A run is of the version that its automation runs when it is queued, whatever is published later.
alter table executions
  add column organization_id int,
  add column project_version_id int;

update executions e set organization_id = d.organization_id, project_version_id = d.project_version_id
  from deployments d where d.id = e.deployment_id;

alter table executions
  alter column organization_id set not null,
  alter column project_version_id set not null,
  add foreign key (deployment_id, organization_id) references deployments (id, organization_id),
  add foreign key (project_version_id, organization_id) references project_versions (id, organization_id);

create function set_execution_version() returns trigger language plpgsql as $$
begin
  select organization_id, project_version_id into new.organization_id, new.project_version_id
    from deployments where id = new.deployment_id;
  return new;
end $$;

create trigger executions_version before insert on executions
  for each row execute function set_execution_version();

create index executions_of_organization on executions (organization_id, queued_at desc, id desc);
create index executions_of_version on executions (project_version_id);

-- The files of tools in parts, so that neither an upload nor a download holds all of one in memory.
create table tool_parts (
  tool_id int not null references tools on delete cascade deferrable initially deferred,
  position int not null check (position >= 0),
  content bytea not null check (octet_length(content) between 1 and 1048576),
  primary key (tool_id, position)
);
-- Wheels and archives are compressed already.
alter table tool_parts alter column content set storage external;

insert into tool_parts (tool_id, position, content)
  select id, part, substring(content from part * 1048576 + 1 for 1048576)
  from tools, generate_series(0, (octet_length(content) - 1) / 1048576) part
  where octet_length(content) > 0;

alter table tools
  add column size int,
  add column uploaded_by int references static_tokens on delete set null;
update tools set size = octet_length(content);
alter table tools
  alter column size set not null,
  add check (size between 1 and 67108864),
  drop column content;

-- One repository for each organization, beside the public one.
create unique index tool_repositories_one_each on tool_repositories (organization_id) where organization_id is not null;

-- A key of the organization's own, sealed by the web service; without it the variables of the platform are used.
alter table llm_connections
  add column sealed_key bytea check (octet_length(sealed_key) > 37),
  add column updated_at timestamptz not null default now();
