-- Each look for new leaves asked about everything that had ended in five minutes, which at 50 runs
-- a second were 15,000 lookups of each worker each ten seconds. What ended after the newest leaf is
-- found by an index alone; what was committed late is looked for once a minute, by one worker.

set local lock_timeout = '2s';

-- when nothing was found that had ended before the newest leaf
alter table receipt_log add column swept_at timestamptz not null default now();

-- The plans are held to the indexes, as those of runs_without_leaf.
create function receipts_are_due() returns boolean
  language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  log receipt_log := (select l from receipt_log l);
begin
  return log.swept_at < now() - interval '1 minute'
    or exists (select from executions where finished_at > log.runs_until)
    or exists (select from audit_entries where at > log.audit_until);
end $$;

create function runs_behind_leaves(most int) returns table (run_id uuid)
  language plpgsql stable rows 100 set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off set enable_bitmapscan = off set jit = off as $$
begin
  return query
    select e.id from executions e
    where e.finished_at > (select runs_until from receipt_log)
      and not exists (select from receipt_leaves l where l.run_id = e.id)
    order by e.finished_at, e.id limit most;
end $$;

create function entries_behind_leaves(most int) returns table (audit_id bigint)
  language plpgsql stable rows 500 set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off set enable_bitmapscan = off set jit = off as $$
begin
  return query
    select e.id from audit_entries e
    where e.at > (select audit_until from receipt_log)
      and not exists (select from receipt_leaves l where l.audit_id = e.id)
    order by e.at, e.id limit most;
end $$;
