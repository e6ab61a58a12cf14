import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PROMOTED_COLUMNS } from '../../../services/collector/conventions/columns.ts'
import { runProgram } from '../../support/program.ts'
import { createHarness, environment, JSON_TYPE } from './support/harness.ts'
import type { Harness } from './support/harness.ts'

const RECORDINGS = [
  'logfire-openai-agents',
  'logfire-openai',
  'mastra',
  'langfuse-5',
  'openinference-langchain',
  'opentelemetry-genai-0.1',
]
const NAMES = PROMOTED_COLUMNS.map(({ column }) => column)
/** The recordings are of one day. */
const RETENTION = { RETENTION_WEEKS: '500' }

describe('spans that an earlier version has stored', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await createHarness(RETENTION)
    for (const [nr, name] of RECORDINGS.entries()) {
      const recording = readFileSync(new URL(`./corpus/${name}.json`, import.meta.url), 'utf8')
      const own = recording.replaceAll(/"traceId": "\w{8}/g, `"traceId": "0000000${nr + 1}`)
      const response = await harness.post(own, { 'content-type': JSON_TYPE })
      expect(await response.json()).toEqual({})
    }
    await harness.rolledUp()
  })
  afterAll(() => harness.stop())

  const spans = () => harness.sql`
    select trace_id, span_id, operation_kind, llm_call, ${harness.sql(NAMES)} from spans
    order by trace_id, span_id`
  const traces = () => harness.sql`
    select trace_id, name, agents, session_id, user_id, llm_calls, input_tokens, cache_read_tokens
    from traces order by trace_id`

  it('have the columns and the totals of this one after a rebuild', async () => {
    const [spansBefore, tracesBefore] = [await spans(), await traces()]
    await harness.sql`
      update spans set attributes = shown.attributes, left_out = null from live_spans as shown
      where (spans.trace_id, spans.span_id) = (shown.trace_id, shown.span_id)`
    await harness.sql`
      update spans set response_id = null, title = null, cache_read_tokens = null,
        reasoning_tokens = null, audio_input_tokens = null, audio_output_tokens = null,
        session_id = null, user_id = null, tool = null,
        agent = case when operation = 'invoke_workflow' then workflow end, workflow = null,
        llm_call = llm_call and operation is not null,
        operation_kind = case when operation is not null or not llm_call then operation_kind end`
    await harness.sql`
      insert into touched_traces (day, trace_ids)
      select (start_time at time zone 'UTC')::date, uuid_send(trace_id) from spans`
    await harness.rolledUp()
    expect(await traces()).not.toEqual(tracesBefore)
    const rebuilt = await runProgram('collector', ['rebuild'], {
      ...environment(harness.databaseUrl),
      ...RETENTION,
    })
    expect(rebuilt).toMatchObject({ code: 0, stderr: '' })
    expect(rebuilt.stdout).toMatch(/^\d+ spans have more columns than before\.\n/)
    expect(await spans()).toEqual(spansBefore)
    await harness.rolledUp()
    expect(await traces()).toEqual(tracesBefore)
  })
})
