-- Traces that were erased on request: by whose token and when, never what was in them.
create table erasures (
  id int8 generated always as identity primary key,
  asked_at timestamptz not null default now(),
  -- of the token with which it was asked for
  issuer text,
  token_id text,
  organization text not null,
  trace_id uuid not null,
  -- set, with the number of spans, in the transaction that deleted them
  erased_at timestamptz,
  spans int8,
  -- until then spans of this trace are not stored: exporters may still repeat some
  refused_until timestamptz not null default now() + interval '1 day'
);

create index erasures_refused on erasures (organization, refused_until);

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

-- Runs it before the commit, for the note with which each such transaction begins. It is off while
-- nothing is refused: a commit then pays nothing. On Citus there is no trigger: it could not reach
-- the spans from where the notes are, and writers call the function themselves.
--
-- An erasure is stored under a lock on `touched_traces`. Transactions that stored their note
-- earlier have committed by then, and the erasure finds their spans; later ones find the erasure.
create function remove_erased_spans() returns trigger language plpgsql as $$
begin
  perform remove_erased(new.organization, new.day, new.trace_ids);
  return null;
end
$$;

create constraint trigger remove_erased_spans after insert on touched_traces
deferrable initially deferred for each row execute function remove_erased_spans();

alter table touched_traces disable trigger remove_erased_spans;
