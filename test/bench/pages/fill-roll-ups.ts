import { readdir, readFile } from 'node:fs/promises'
import { createLog } from '../../../services/shared/log.ts'
import type { Database } from '../../../services/shared/postgres/database.ts'
import { prepareSearch } from '../../../services/collector/store/search/prepare-search.ts'
import { sumNextDay } from '../../../services/collector/store/roll-ups/trace-days.ts'
import { MEASURES } from '../../../services/collector/store/roll-ups/measures.ts'

/** The size of an installation whose roll-ups are measured. */
interface Installation {
  readonly days: number
  readonly callsADay: number
  readonly traces: number
  readonly crews: number
  /** Spans whose prompts and answers can be searched, of as many traces. */
  readonly texts: number
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
  if (size.texts > 0) await fillTexts(sql, size)
  await sql`vacuum analyze traces`
  await sql`vacuum analyze traces_daily`
  await sql`vacuum analyze usage_hourly`
  await sql`vacuum analyze span_texts`
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

/** Two pieces of this repository's own prose in each; one in a thousand has a rare word. */
async function fillTexts(sql: Database, { days, traces, texts }: Installation): Promise<void> {
  await sql`set work_mem = '64MB'`
  await sql`set maintenance_work_mem = '512MB'`
  const pieces = await prose()
  await sql`create temp table pieces (nr int primary key, text text not null)`
  await sql`
    insert into pieces select nr - 1, text
    from unnest(${pieces}::text[]) with ordinality as given (text, nr)`
  await sql.unsafe(`
    do $$
    begin
      for nr in 0..${days + 1} loop
        execute format('create table span_texts_%s partition of span_texts for values from (%L)
          to (%L)', nr, current_date - nr, current_date - nr + 1);
        execute format('alter table span_texts_%s alter column text set statistics 1', nr);
      end loop;
    end
    $$`)
  await sql`
    insert into span_texts (start_time, trace_id, span_id, organization, duration_ns, text)
    select start_time, trace_id, root_span_id, organization, 5, one.text || ' ' || other.text ||
      case when root_span_id % 1000 = 0 then ' zebra-crossing' else '' end
    from traces
    join pieces as one on one.nr = root_span_id * 7919::int8 % ${pieces.length}::int
    join pieces as other on other.nr = root_span_id * 104729::int8 / 13 % ${pieces.length}::int
    where root_span_id % ${Math.round(traces / texts)}::int = 0`
  await prepareSearch(sql, true, createLog({ name: 'bench', level: 'silent' }))
}

const PIECE = 400

async function prose(): Promise<string[]> {
  const folder = new URL('../../../docs/', import.meta.url)
  const names = (await readdir(folder)).filter((name) => name.endsWith('.md'))
  const files = await Promise.all(names.map((name) => readFile(new URL(name, folder), 'utf8')))
  return files.join('\n').match(new RegExp(`[^]{${PIECE}}`, 'g')) ?? []
}
