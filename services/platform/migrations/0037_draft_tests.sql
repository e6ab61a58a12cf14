-- Drafts are tested by runs of a copy of their text, on an automation that a project has for that
-- alone: callers do not reach it, and it has neither webhooks nor schedules.

-- In the order in which versions and runs are stored, so that neither meets a deadlock.
lock table projects in share row exclusive mode;
lock table deployments, project_versions in access exclusive mode;

-- safe: programs find versions by number or by publication, and leave copies out either way
alter table project_versions alter column number drop not null;

-- The version that a row is a copy of, as it was when it was tested; a copy has no number.
alter table project_versions add column copy_of int check (copy_of > 0);

-- safe: whoever knows no copies writes a number
alter table project_versions
  add constraint project_versions_number_or_copy
    check ((number is null) = (copy_of is not null)),
  add constraint project_versions_copies_stay_drafts
    check (copy_of is null or published_at is null);

create index project_versions_copies on project_versions (project_id, copy_of)
  where copy_of is not null;

create function refuse_change_of_copy() returns trigger language plpgsql as $$
begin
  raise exception 'project version % is what runs have tested and can not be changed', old.id
    using errcode = 'check_violation';
end $$;

create trigger project_versions_copies_stay before update on project_versions
  for each row when (old.copy_of is not null) execute function refuse_change_of_copy();

-- The project whose drafts an automation tests; null: callers start it.
alter table deployments add column tests_project_id int;

-- safe: programs of the version before leave the column out
alter table deployments
  add constraint deployments_one_for_tests unique (tests_project_id),
  add foreign key (tests_project_id, organization_id) references projects (id, organization_id);

create or replace function check_deployment() returns trigger language plpgsql as $$
begin
  if not exists (
    select from project_versions where id = new.project_version_id
      and case when new.tests_project_id is null then published_at is not null
        else project_id = new.tests_project_id and copy_of is not null end) then
    raise exception 'project version % is not published: only published versions are deployed',
      new.project_version_id using errcode = 'check_violation';
  end if;
  if new.runs_on is not null and not exists (
    select from deployments d join organizations o on o.id = d.organization_id
    where d.id = new.runs_on and d.runs_on is null and o.internal) then
    raise exception
      'deployment % can not run others: it is not a crew of the internal organization',
      new.runs_on using errcode = 'check_violation';
  end if;
  return new;
end $$;
