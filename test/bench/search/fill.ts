import { readdir, readFile } from 'node:fs/promises'
import {
  openExtraction,
  takeExtraction,
} from '../../../services/collector/store/search/extract-texts.ts'
import type { DatabaseAddress } from '../../../services/shared/postgres/address.ts'
import type { Database } from '../../../services/shared/postgres/database.ts'

export const ORGANIZATION = 'acme'
const DAYS = 28
const CALLS_A_TRACE = 4
const TRACES_A_NOTE = 250
/** Characters of a piece: two of them and a hash are a question, two an answer. */
const PIECE = 250
const PART = 50_000

/**
 * Model calls of four weeks in traces of four, with their rows in the lists, and a note of each
 * trace for the search. One in a thousand has the word zebra-crossing, one in 100,000 axolotl.
 */
export async function fill(sql: Database, calls: number): Promise<void> {
  await sql`insert into retention (weeks) values (13)
    on conflict (only_row) do update set weeks = excluded.weeks`
  await sql.unsafe(PARTITIONS)
  const pieces = await prose()
  await sql`create temp table pieces (nr int primary key, text text not null)`
  await sql`
    insert into pieces select nr - 1, text
    from unnest(${pieces}::text[]) with ordinality as given (text, nr)`
  for (let from = 0; from < calls; from += PART) {
    await sql.unsafe(spansOf({ from, to: Math.min(from + PART, calls), calls }, pieces.length))
  }
  await sql.unsafe(TRACES)
  await sql.unsafe(NOTES)
  await sql`vacuum analyze spans`
  await sql`vacuum analyze traces`
}

const PARTITIONS = `
  do $$ begin
    for back in 0..${DAYS} loop
      execute format('create table if not exists spans_%s partition of spans
        for values from (%L) to (%L)', to_char(current_date - back, 'YYYYMMDD'),
        (current_date - back)::timestamptz, (current_date - back + 1)::timestamptz);
      execute format('create unique index if not exists spans_%1$s_key on spans_%1$s
        (start_time, trace_id, span_id, organization)', to_char(current_date - back, 'YYYYMMDD'));
    end loop;
  end $$`

interface Part {
  readonly from: number
  readonly to: number
  readonly calls: number
}

const spansOf = ({ from, to, calls }: Part, pieces: number): string => {
  const piece = (factor: number): string => `n::int8 * ${factor} / 13 % ${pieces}`
  return `
  insert into spans (trace_id, span_id, parent_span_id, start_time, duration_ns, resource_id,
    scope_id, start_ns, kind, status, llm_call, name, operation, operation_kind, request_model,
    input_tokens, output_tokens, organization, attributes, payload)
  select md5((n / ${CALLS_A_TRACE})::text)::uuid, n + 1,
    case when n % ${CALLS_A_TRACE} > 0 then n - n % ${CALLS_A_TRACE} + 1 end,
    now() - n * interval '${DAYS - 1} days' / ${calls}, 12345678, 1, 1, 0, 1, 0, true,
    'chat gpt-5-mini', 'chat', 'llm', 'gpt-5-mini', 1200, 340, '${ORGANIZATION}',
    '{"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5-mini"}',
    json_build_object(
      'gen_ai.input.messages', json_build_array(json_build_object('role', 'user',
        'content', a.text || ' ' || md5(n::text) || b.text))::text,
      'gen_ai.output.messages', json_build_array(json_build_object('role', 'assistant',
        'content', c.text || d.text || case when n % 1000 = 7 then ' zebra-crossing' else '' end
          || case when n % 100000 = 9 then ' axolotl' else '' end))::text
    )::text
  from generate_series(${from}, ${to - 1}) as n
  join pieces as a on a.nr = ${piece(7919)} join pieces as b on b.nr = ${piece(104_729)}
  join pieces as c on c.nr = ${piece(1_299_709)} join pieces as d on d.nr = ${piece(15_485_863)}`
}

const TRACES = `
  insert into traces (trace_id, start_time, first_start, last_start, end_time, duration_ns,
    root_span_id, start_ns, status, name, organization, agents, models, spans, error_spans,
    llm_calls, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens,
    reasoning_tokens, audio_input_tokens, audio_output_tokens, usage, terms)
  select trace_id, max(start_time) filter (where parent_span_id is null), min(start_time),
    max(start_time), max(start_time), 12345678, min(span_id), 0, 'ok', 'chat gpt-5-mini',
    organization, '{}', '{gpt-5-mini}', count(*), 0, count(*), 4800, 1360, 0, 0, 0, 0, 0, '{}', '{}'
  from spans group by trace_id, organization`

const NOTES = `
  insert into traces_to_extract (organization, day, trace_ids)
  select organization, day, string_agg(uuid_send(trace_id), '')
  from (
    select organization, trace_id, day,
      row_number() over (partition by organization, day order by first) / ${TRACES_A_NOTE} as part
    from (
      select organization, trace_id, (start_time at time zone 'UTC')::date as day,
        min(start_time) as first
      from spans group by 1, 2, 3
    ) as of_day
  ) as parts
  group by organization, day, part order by day, part`

/** Makes all texts that are noted searchable, and returns how many there are. */
export async function makeSearchable(address: DatabaseAddress): Promise<number> {
  const session = await openExtraction(address)
  let texts = 0
  for (;;) {
    const { spans, isDone } = await takeExtraction(session)
    if (isDone) break
    texts += spans
  }
  session.close()
  return texts
}

/** This repository's own words. */
async function prose(): Promise<string[]> {
  const folder = new URL('../../../docs/', import.meta.url)
  const names = (await readdir(folder)).filter((name) => name.endsWith('.md'))
  const files = await Promise.all(names.map((name) => readFile(new URL(name, folder), 'utf8')))
  return files.join('\n').match(new RegExp(`[^]{${PIECE}}`, 'g')) ?? []
}
