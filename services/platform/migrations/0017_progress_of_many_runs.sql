-- A worker writes what all of its runs report in one statement.

-- The last position of a run is looked up at each write, and steps are listed in its order.
create index run_steps_in_order on run_steps (run_id, position);

-- Announces the events of a statement, and writes what webhooks are told of them.
create function tell_execution_events() returns trigger language plpgsql as $$
declare
  told record;
begin
  perform pg_notify('run_changed', execution_id || ' event')
    from (select distinct execution_id from written) runs;
  for told in
    select e as run, w.event, w.number, w.attempt, w.recorded_at
    from written w join executions e on e.id = w.execution_id
    where exists (select from webhooks h where h.deployment_id = e.deployment_id)
    order by w.execution_id, w.number
  loop
    perform tell_webhooks(told.run, told.event,
      jsonb_build_object('number', told.number, 'attempt', told.attempt), told.recorded_at);
  end loop;
  return null;
end $$;

drop trigger execution_events_told on execution_events;
drop function tell_execution_event();
create trigger execution_events_told after insert on execution_events
  referencing new table as written
  for each statement execute function tell_execution_events();

-- To compress a long result takes the server several times as long as to store it.
alter table run_payloads alter column content set storage external;
