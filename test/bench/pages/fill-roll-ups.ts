import type { Database } from '../../../services/shared/postgres/database.ts'
import { sumNextDay } from '../../../services/collector/store/roll-ups/trace-days.ts'
import { MEASURES } from '../../../services/collector/store/roll-ups/measures.ts'

/** The size of an installation whose roll-ups are measured. */
interface Installation {
  readonly days: number
  readonly callsADay: number
  readonly traces: number
  readonly crews: number
  /** Whose they are. @default 'acme' */
  readonly organization?: string
}

/** Fills the roll-ups as that many calls and traces would. */
export async function fillRollUps(sql: Database, size: Installation): Promise<void> {
  await sql`insert into retention (weeks) values (5200)
    on conflict (only_row) do update set weeks = excluded.weeks`
  await fillTraces(sql, size)
  while (await sumNextDay(sql, 0));
  await fillUsage(sql, size)
  await sql`vacuum analyze traces`
  await sql`vacuum analyze traces_daily`
  await sql`vacuum analyze usage_hourly`
}

async function fillTraces(sql: Database, size: Installation): Promise<void> {
  const { days, traces, crews, organization = 'acme' } = size
  await sql`
    insert into traces (trace_id, start_time, first_start, last_start, end_time, duration_ns,
      root_span_id, start_ns, status, name, service, organization, crew_id, kickoff_id, session_id,
      user_id, agents, models, spans, error_spans, llm_calls, input_tokens, output_tokens,
      cache_read_tokens, cache_write_tokens, reasoning_tokens, audio_input_tokens,
      audio_output_tokens, computed_cost_usd, cost_usd, usage, terms)
    select id, at, at, at, at + interval '9 s', (random() * 9e9)::int8, nr, 0,
      (array['ok', 'ok', 'ok', 'ok', 'error', 'running', 'incomplete'])[1 + nr % 7],
      'crew.kickoff', 'crew', ${organization}::text, 'crew-' || nr % ${crews}::int, id::text,
      'session-' || nr / 5, 'user-' || nr % 300, '{Researcher,Writer}',
      case when nr % 500 = 0 then '{rare-model}'::text[] else '{gpt-4o}'::text[] end,
      12, 0, 2, 2000, 400, 0, 0, 0, 0, 0, 0.009, random() * 0.01, '{}',
      array['service:crew', 'agent:Researcher', 'agent:Writer', 'tool:tool-' || nr % 40,
        case when nr % 500 = 0 then 'model:rare-model' else 'model:gpt-4o' end]
    from (
      select nr, md5(nr::text)::uuid as id, now() - nr * ${days / traces}::float8 * interval '1 day'
        as at
      from generate_series(1, ${traces}::int) as nr
    ) as made`
}

async function fillUsage(sql: Database, size: Installation): Promise<void> {
  const { days, callsADay, crews, organization = 'acme' } = size
  const columns = MEASURES.map(({ column }) => column)
  const calls = callsADay / 24 / crews / MODELS.length
  const values = columns.map((column) => (column === 'calls' ? calls : calls * 20))
  await sql.unsafe(`
    insert into usage_hourly (hour, organization, crew_id, model, ${columns.join(', ')})
    select date_trunc('hour', now()) - hour * interval '1 hour', '${organization}',
      'crew-' || crew, model, ${values.join(', ')}
    from generate_series(0, ${days * 24 - 1}) as hour, generate_series(1, ${crews}) as crew,
      unnest(array[${MODELS.map((model) => `'${model}'`).join(', ')}]) as model`)
}

const MODELS = ['gpt-4o', 'gpt-4o-mini', 'claude-sonnet-4-5', 'gemini-2.5-pro']
