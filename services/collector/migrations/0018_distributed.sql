-- What the organization of a reader and the erasure of a trace need on Citus.

-- Limits the transaction to what a reader of this organization may see; true when row-level
-- security limits it, too. On Citus the setting has to reach the other nodes, where conditions of
-- the views may be evaluated: it goes there with `set local` alone, and with statements that begin
-- a transaction there.
create function limit_reader(reading text) returns bool language plpgsql as $$
begin
  if is_distributed() then
    perform set_config('citus.propagate_set_commands', 'local', true),
      set_config('citus.select_opens_transaction_block', 'on', true);
    execute format('set local collector.organization = %L', reading);
    -- It would send the whole message with a later setting, whatever else is in it.
    perform set_config('citus.propagate_set_commands', 'none', true);
    return false;
  end if;
  perform set_config('collector.organization', reading, true),
    set_config('role', coalesce(reader_role(), current_setting('role')), true);
  return reader_role() is not null;
end
$$;

-- Deletes the spans of erased traces that the transaction has stored, by its note of what it has
-- touched.
create function remove_erased(of_organization text, of_day date, of_trace_ids bytea)
returns void language plpgsql as $$
declare
  erased uuid;
begin
  for erased in
    select trace_id from erasures
    where organization = of_organization and refused_until > now()
      and position(uuid_send(trace_id) in of_trace_ids) > 0
  loop
    delete from spans
    where trace_id = erased and organization = of_organization
      and start_time >= of_day::timestamp at time zone 'UTC'
      and start_time < (of_day + 1)::timestamp at time zone 'UTC';
  end loop;
end
$$;

-- As in 0015. On Citus there is no trigger: it could not reach the spans from where the notes are,
-- and writers call the function themselves.
create or replace function remove_erased_spans() returns trigger language plpgsql as $$
begin
  perform remove_erased(new.organization, new.day, new.trace_ids);
  return null;
end
$$;
