import type { Database } from '../../../services/shared/postgres/database.ts'

/** How attempts ended that were not handed over by their crews. */
export interface CutCalls {
  /** How many attempts each way of ending one ended. */
  readonly attempts: Readonly<Record<string, number>>
  /** How often the call of a step was cut off: started, and not finished. By `run/task`. */
  readonly calls: ReadonlyMap<string, number>
}

/**
 * Lets the database note the calls that are in flight when an attempt loses its lease, whoever ends
 * it and why: on a slow machine leases run out without any fault. It does so while it has the run's
 * row, which each commit of a worker locks, so that no call can start or finish meanwhile. What an
 * attempt began after its crew was told to end was not called: those attempts are handed over. An
 * attempt that was put back before it began does not count: the next one has its number.
 */
export async function noteCutCalls(sql: Database): Promise<void> {
  await sql.unsafe(`
    create table cut_attempts (run_id uuid, attempt int, how text, primary key (run_id, attempt));
    create table cut_calls (run_id uuid, attempt int, call text);
    create function note_cut_calls() returns trigger language plpgsql as $$
    begin
      perform from execution_events where execution_id = old.id and attempt = old.attempt
        and event ->> 'type' = 'handed_over';
      if found then return null; end if;
      insert into cut_attempts values (old.id, old.attempt, case
          when least(old.lease_expires_at, new.lease_expires_at) < now() - interval '1 hour'
            then 'lease taken away'
          when old.lease_expires_at < now() then 'lease run out'
          when new.lost_attempts > old.lost_attempts then 'crew lost'
          else 'given back' end)
        on conflict do nothing;
      if not found then return null; end if;
      insert into cut_calls select old.id, old.attempt, (old.inputs ->> 'number') || '/'
          || (path ->> 0) || case when path ->> 1 like 'item:%' then '/' || (path ->> 1) else '' end
        from run_steps where run_id = old.id and attempt = old.attempt
          and kind = 'llm' and state = 'started';
      return null;
    end $$;
    create trigger note_cut_calls after update of lease_id on executions for each row
      when (old.lease_id is not null and new.lease_id is distinct from old.lease_id
        and new.status in ('queued', 'running') and new.attempt = old.attempt)
      execute function note_cut_calls()`)
}

/** Reads what was cut off so far. */
export async function readCutCalls(sql: Database): Promise<CutCalls> {
  const attempts = await sql<{ how: string; count: number }[]>`
    select how, count(*)::int as count from cut_attempts group by how order by how`
  const calls = await sql<{ call: string; count: number }[]>`
    select call, count(*)::int as count from cut_calls group by call`
  return {
    attempts: Object.fromEntries(attempts.map(({ how, count }) => [how, count])),
    calls: new Map(calls.map(({ call, count }) => [call, count])),
  }
}

/** Takes runs from their workers; how their leases end shows that it was a fault. */
export const takeLeases = (sql: Database, runs: 'one' | 'all') => sql`
  update executions set lease_expires_at = now() - interval '1 day'
    ${runs === 'one' ? sql`, lease_id = gen_random_uuid()` : sql``}
  where status = 'running' ${
    runs === 'all'
      ? sql``
      : sql`and id = (
          select id from executions where status = 'running' and lost_attempts = 0
          order by random() limit 1)`
  }`
