-- What is made of runs stays with them under a legal hold: cases with the results of versions, and
-- the outcomes of replays. Whatever deletes them, programs of the release before among them, leaves
-- those that are held.

set local lock_timeout = '2s';

-- A replay goes with its run: a text that only its outcome has keeps both.
create or replace function run_is_held(run executions) returns boolean
language plpgsql stable set plan_cache_mode = force_generic_plan as $$
begin
  return exists (
    select from legal_holds h where h.organization_id = run.organization_id and case h.kind
      when 'automation' then h.value = (
        select automation_id::text from deployments where id = run.deployment_id)
      when 'user' then run.starter_id in (h.value, 'person:' || h.value)
      when 'text' then run_mentions(run, h.patterns) or exists (
        select from replay_runs t where t.run_id = run.id
          and lower(concat_ws(E'\n', t.reason, t.step, t.request, t.output)) like any (h.patterns))
      else h.value = run.id::text end);
end $$;

-- By the run that it was made of, also where that is deleted, by its texts, or by a result of it.
create function case_is_held(kept cases) returns boolean
language plpgsql stable set plan_cache_mode = force_generic_plan as $$
declare
  owner case_sets := (select s from case_sets s where s.id = kept.set_id);
begin
  return exists (select from legal_holds where organization_id = owner.organization_id) and (
    (kept.run_id is not null and is_held(owner.organization_id, kept.run_id)) or exists (
      select from legal_holds h where h.organization_id = owner.organization_id and case h.kind
        when 'automation' then kept.run_id is not null and h.value = (
          select automation_id::text from deployments where id = owner.deployment_id)
        when 'text' then
          lower(concat_ws(E'\n', kept.name, kept.inputs, kept.expected)) like any (h.patterns)
          or exists (select from evaluation_runs r where r.case_id = kept.id
            and lower(concat_ws(E'\n', r.reason, r.output, r.findings, r.tools))
              like any (h.patterns))
        else false end));
end $$;

create function case_set_is_held(kept case_sets) returns boolean language sql stable as $$
  select exists (select from legal_holds where organization_id = kept.organization_id)
    and exists (select from cases c where c.set_id = kept.id and case_is_held(c))
$$;

-- Those that are not done have no result yet, and can be given up.
create function result_is_held(kept evaluation_runs) returns boolean language sql stable as $$
  select kept.finished_at is not null
    and exists (select from cases c where c.id = kept.case_id and case_is_held(c))
$$;

create function evaluation_is_held(kept evaluations) returns boolean language sql stable as $$
  select exists (select from legal_holds where organization_id = kept.organization_id)
    and exists (
      select from evaluation_runs r where r.evaluation_id = kept.id and result_is_held(r))
$$;

create function outcome_is_held(kept replay_runs) returns boolean language sql stable as $$
  select kept.finished_at is not null and exists (
    select from replays r where r.id = kept.replay_id and is_held(r.organization_id, kept.run_id))
$$;

create function replay_is_held(kept replays) returns boolean language sql stable as $$
  select exists (select from legal_holds where organization_id = kept.organization_id)
    and exists (select from replay_runs t where t.replay_id = kept.id and outcome_is_held(t))
$$;

-- Asked before the row of an automation is deleted, while its id is there to be compared.
create function cases_are_held(of_automation deployments) returns boolean
language sql stable as $$
  select exists (select from legal_holds where organization_id = of_automation.organization_id)
    and exists (
      select from case_sets s where s.deployment_id = of_automation.id and case_set_is_held(s))
$$;

create function refuse_deletion_under_hold() returns trigger language plpgsql as $$
begin
  raise exception 'a row of % is under a legal hold', tg_table_name
    using errcode = 'restrict_violation', constraint = 'legal_hold';
end $$;

-- What goes with a row that was asked is not asked again: a set may have 100,000 cases.
create trigger cases_held before delete on cases for each row
  when (pg_trigger_depth() = 0 and case_is_held(old)) execute function refuse_deletion_under_hold();
create trigger case_sets_held before delete on case_sets for each row
  when (case_set_is_held(old)) execute function refuse_deletion_under_hold();
create trigger evaluation_runs_held before delete on evaluation_runs for each row
  when (pg_trigger_depth() = 0 and result_is_held(old))
  execute function refuse_deletion_under_hold();
create trigger evaluations_held before delete on evaluations for each row
  when (evaluation_is_held(old)) execute function refuse_deletion_under_hold();
create trigger replay_runs_held before delete on replay_runs for each row
  when (pg_trigger_depth() = 0 and outcome_is_held(old))
  execute function refuse_deletion_under_hold();
create trigger replays_held before delete on replays for each row
  when (replay_is_held(old)) execute function refuse_deletion_under_hold();

create trigger deployments_held before delete on deployments for each row
  when (cases_are_held(old)) execute function refuse_deletion_under_hold();

-- As before, with the name by which programs tell a hold from other restrictions.
create or replace function refuse_deletion_of_held_run() returns trigger language plpgsql as $$
begin
  if exists (select from legal_holds where organization_id = old.organization_id)
    and run_is_held(old) then
    raise exception 'run % is under a legal hold', old.id
      using errcode = 'restrict_violation', constraint = 'legal_hold';
  end if;
  return old;
end $$;
