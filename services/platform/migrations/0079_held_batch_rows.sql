-- The rows of batches stay under a legal hold, with the inputs that no run has yet. Whatever
-- deletes or empties them, programs of the release before among them, leaves those that are held.

set local lock_timeout = '2s';

-- By the automation or the starter of its batch, by its texts, or by its run.
create function batch_row_is_held(kept batch_rows) returns boolean
language plpgsql stable set plan_cache_mode = force_generic_plan as $$
declare
  owner batches := (select b from batches b where b.id = kept.batch_id);
begin
  return exists (select from legal_holds where organization_id = owner.organization_id) and (
    (kept.run_id is not null and is_held(owner.organization_id, kept.run_id)) or exists (
      select from legal_holds h where h.organization_id = owner.organization_id and case h.kind
        when 'automation' then h.value = (
          select automation_id::text from deployments where id = owner.deployment_id)
        when 'user' then owner.starter_id in (h.value, 'person:' || h.value)
        when 'text' then lower(concat_ws(E'\n', kept.key, kept.inputs)) like any (h.patterns)
        else false end));
end $$;

create function batch_is_held(kept batches) returns boolean language sql stable as $$
  select exists (select from legal_holds where organization_id = kept.organization_id)
    and exists (select from batch_rows r where r.batch_id = kept.id and batch_row_is_held(r))
$$;

-- Asked before the row of an automation is deleted, while its id is there to be compared.
create function batches_are_held(of_automation deployments) returns boolean
language sql stable as $$
  select exists (select from legal_holds where organization_id = of_automation.organization_id)
    and exists (select from batches b where b.deployment_id = of_automation.id and batch_is_held(b))
$$;

-- What goes with a batch that was asked is not asked again: it may have 100,000 rows.
create trigger batch_rows_held before delete on batch_rows for each row
  when (pg_trigger_depth() = 0 and batch_row_is_held(old))
  execute function refuse_deletion_under_hold();
create trigger batches_held before delete on batches for each row
  when (batch_is_held(old)) execute function refuse_deletion_under_hold();
create trigger deployments_held_by_batches before delete on deployments for each row
  when (batches_are_held(old)) execute function refuse_deletion_under_hold();

-- A batch that is stopped gives its waiting inputs up; those that are held stay, and start nothing.
create function keep_held_inputs() returns trigger language plpgsql as $$
begin
  new.inputs := old.inputs;
  new.key := old.key;
  return new;
end $$;

create trigger batch_rows_inputs_held before update of inputs on batch_rows for each row
  when (old.inputs is not null and new.inputs is null and new.run_id is null
    and batch_row_is_held(old))
  execute function keep_held_inputs();
