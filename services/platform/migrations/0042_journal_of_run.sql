-- One plan for all runs, of which only the partition of the run is begun: each start of a run
-- planned anew for all partitions, which took ten times as long as the look itself.

create function journal_of_run(of uuid)
returns table (step text, kind text, usage jsonb, attempt int, result json)
language plpgsql stable rows 20 set plan_cache_mode = force_generic_plan as $$
begin
  return query
    -- No joins: a plan for a day that has no statistics yet compares each step with each other one.
    select s.step_key, s.kind, s.usage, s.attempt,
      case when s.has_payload then (
        select content from run_payloads where run_id = of and step_key = s.step_key)
      else s.result end
    from run_steps s
    where s.run_id = of and s.state = 'finished' and (s.parent is null or s.parent not in (
      select step_key from run_steps where run_id = of and state = 'finished'))
    order by s.position;
end $$;
