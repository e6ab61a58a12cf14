-- Automations that are designed are stopped and deleted as those from source are, which have the
-- same in crew_settings. The names differ from those there: the release before joins both tables.
-- Runs of one that is halted wait; workers delete one with its runs.

alter table deployments
  add column halted_at timestamptz,
  add column deleting_since timestamptz;

create index on deployments (id) where deleting_since is not null;

-- A published version can be deleted once no automation is of its project any more.
create or replace function refuse_change_of_published_version() returns trigger
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
