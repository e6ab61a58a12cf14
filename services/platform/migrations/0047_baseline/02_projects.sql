-- What people design: projects and their versions. A version is a definition or a source; a
-- published one never changes.

create table projects (
  id int generated always as identity primary key,
  organization_id int not null references organizations,
  name text not null check (length(name) between 1 and 200),
  -- the number of the newest version
  last_version int not null default 0,
  created_at timestamptz not null default now(),
  -- its versions are sources, not definitions
  from_source boolean not null default false,
  -- It is listed apart then, and takes no new version; its automations keep running.
  archived_at timestamptz,
  unique (organization_id, name),
  unique (id, organization_id)
);

create table project_versions (
  id int generated always as identity primary key,
  project_id int not null,
  organization_id int not null,
  -- null: a copy of the text of a draft, as a test of it ran
  number int check (number > 0),
  -- Of a source: what its crew says of itself, the name, and the inputs once it has run.
  definition jsonb not null check (jsonb_typeof(definition) = 'object'),
  published_at timestamptz,
  created_at timestamptz not null default now(),
  source_id int,
  -- what is new in it, in the words of the person who published it
  note text check (length(note) between 1 and 1000),
  -- the number of the version that it is a copy of
  copy_of int check (copy_of > 0),
  foreign key (project_id, organization_id) references projects (id, organization_id),
  unique (project_id, number),
  unique (id, organization_id),
  constraint project_versions_number_or_copy check ((number is null) = (copy_of is not null)),
  constraint project_versions_copies_stay_drafts check (copy_of is null or published_at is null)
);

create unique index project_versions_source on project_versions (project_id, source_id);
create index project_versions_copies on project_versions (project_id, copy_of)
  where copy_of is not null;

create function check_version_kind() returns trigger language plpgsql as $$
begin
  -- The first version of a project of sources stands for what is not deployed yet.
  if (new.source_id is not null or new.number > 1) and (new.source_id is not null) <>
    (select from_source from projects where id = new.project_id) then
    raise exception 'project % holds either definitions or sources', new.project_id
      using errcode = 'check_violation';
  end if;
  return new;
end $$;

create trigger project_versions_kind before insert or update of source_id on project_versions
  for each row execute function check_version_kind();

-- What a source says of itself is known only once it runs; and it is deleted with its automation.
-- Another published version can be deleted once no automation is of its project any more.
create function refuse_change_of_published_version() returns trigger
language plpgsql as $$
begin
  if (select from_source from projects where id = old.project_id) then
    if tg_op = 'DELETE' then
      return old;
    end if;
    if to_jsonb(new) - 'definition' = to_jsonb(old) - 'definition' then
      return new;
    end if;
  end if;
  if tg_op = 'DELETE' and not exists (
    select from deployments d join project_versions v on v.id = d.project_version_id
    where v.project_id = old.project_id
  ) then
    return old;
  end if;
  raise exception 'project version % is published and can not be changed; create a new version',
    old.id using errcode = 'check_violation';
end $$;

create trigger project_versions_immutable before update or delete on project_versions
  for each row when (old.published_at is not null)
  execute function refuse_change_of_published_version();

create function refuse_change_of_copy() returns trigger language plpgsql as $$
begin
  raise exception 'project version % is what runs have tested and can not be changed', old.id
    using errcode = 'check_violation';
end $$;

create trigger project_versions_copies_stay before update on project_versions
  for each row when (old.copy_of is not null) execute function refuse_change_of_copy();
