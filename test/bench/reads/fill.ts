import type { Database } from '../../../services/shared/postgres/database.ts'

export const TRACE_ID = 'a'.repeat(32)
export const SPANS = 50_000
const BATCH = 5000
/** Days before today, as an installation with 13 weeks of retention has them. */
const DAYS = 90

/**
 * A trace of 50,000 spans over midnight, a third of them calls of a model: half of the spans have
 * 40 KB of text that does not compress, 1 GB in all. Beside it lie 200,000 spans of other traces.
 * All are the organization's, or the platform's own.
 */
export async function fill(sql: Database, organization = ''): Promise<void> {
  await sql.unsafe(`alter table spans alter column organization set default '${organization}'`)
  await sql.unsafe(`
    do $$ begin
      for back in 1..${DAYS} loop
        execute format('create table if not exists spans_%s partition of spans
          for values from (%L) to (%L)', to_char(current_date - back, 'YYYYMMDD'),
          (current_date - back)::timestamptz, (current_date - back + 1)::timestamptz);
      end loop;
    end $$`)
  await sql.unsafe(`
    insert into spans (trace_id, span_id, start_time, duration_ns, resource_id, scope_id, start_ns,
      kind, status, llm_call, name, attributes)
    select md5((n / 10)::text)::uuid, n, current_date - interval '1 hour' + n * interval '20 ms',
      1000000, 1, 1, 0, 1, 0, false, 'light span', '{"a":1}'
    from generate_series(1, 200000) n`)
  await sql.unsafe(`
    create temp table prose as
    select string_agg(md5(n::text), ' ') as text from generate_series(1, 1200) n`)
  for (let from = 0; from < SPANS; from += BATCH) await sql.unsafe(spansOf(from))
  await sql`alter table spans alter column organization set default ''`
  await sql`vacuum analyze spans`
}

const spansOf = (from: number): string => `
  insert into spans (trace_id, span_id, parent_span_id, start_time, duration_ns, resource_id,
    scope_id, start_ns, kind, status, llm_call, name, operation, operation_kind, provider,
    request_model, response_model, agent, task, tool, input_tokens, output_tokens, cost_usd,
    attributes, payload)
  select '${TRACE_ID}', n * 7919123456789, case when n > 1 then n / 2 * 7919123456789 end,
    current_date - interval '10 minutes' + n * interval '24 ms', 12345678, 1, 1, 123, 1, 0,
    n % 3 = 0, 'chat gpt-5-mini', 'chat', 'llm', 'openai', 'gpt-5-mini', 'gpt-5-mini-2026-01-01',
    'Researcher', 'research_task', case when n % 3 = 1 then 'web_search' end, 1200, 340, 0.00123,
    '{"gen_ai.operation.name": "chat", "x": 1}',
    '{"gen_ai.prompt":"' || n || case when n % 2 = 0 then text else left(text, 650) end || '"}'
  from generate_series(${from} + 1, ${from + BATCH}) n, prose`
