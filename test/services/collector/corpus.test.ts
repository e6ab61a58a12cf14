import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createHarness, JSON_TYPE } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import { ask, readSpan } from './support/reading.ts'

const DIRECTORY = new URL('./corpus/', import.meta.url)
const RECORDINGS = readdirSync(DIRECTORY)
  .filter((file) => file.endsWith('.expected.json'))
  .map((file) => file.slice(0, -'.expected.json'.length))

interface Span {
  readonly traceId: string
  readonly spanId: string
}

interface Expected {
  /** What the list shows of each trace, by its start. */
  readonly traces?: readonly Readonly<Record<string, unknown>>[]
  readonly spans: readonly Readonly<Record<string, unknown>>[]
}

interface Recording {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { spans: readonly Span[] }[] }[]
}

interface ListedTrace {
  readonly name: string
  readonly llm_calls: number
  readonly tokens: Readonly<Record<'input' | 'output', number>>
  readonly input: string | null
  readonly output: string | null
}

const read = (name: string): string => readFileSync(new URL(name, DIRECTORY), 'utf8')

/** Recordings have a time of their own; the day before yesterday is within any retention. */
const MINUTES_BACK = 2 * 24 * 60
const withTraceIdsOf = (recording: string, index: number): string =>
  recording.replaceAll(/"traceId": "\w{8}/g, `"traceId": "${String(index + 1).padStart(8, '0')}`)

function withTimesOfNow(recording: string): string {
  const offset = BigInt(Date.now() - MINUTES_BACK * 60_000) * 1_000_000n
  const times = [...recording.matchAll(/TimeUnixNano": "(\d{19})"/g)].map(([, time]) =>
    BigInt(time ?? 0),
  )
  const first = times.reduce((least, time) => (time < least ? time : least))
  return recording.replaceAll(
    /TimeUnixNano": "(\d{19})"/g,
    (_, time: string) => `TimeUnixNano": "${BigInt(time) - first + offset}"`,
  )
}

/** The columns by the names that the corpus has for them. */
const COLUMNS: Readonly<Record<string, string>> = {
  operation: 'operation',
  operation_kind: 'operation_kind',
  provider: 'provider',
  request_model: 'request_model',
  response_model: 'response_model',
  cost: 'cost_usd',
  agent: 'agent',
  task: 'task',
  tool: 'tool',
  workflow: 'workflow',
  session: 'session_id',
  user: 'user_id',
}
const TOKENS: Readonly<Record<string, string>> = {
  input: 'input_tokens',
  output: 'output_tokens',
  cache_read: 'cache_read_tokens',
  cache_write: 'cache_write_tokens',
  reasoning: 'reasoning_tokens',
  audio_input: 'audio_input_tokens',
  audio_output: 'audio_output_tokens',
}

const isGiven = ([, value]: readonly [string, unknown]): boolean =>
  value !== null && value !== undefined
const shown = (names: Readonly<Record<string, string>>, columns: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(names)
      .map(([name, column]) => [name, columns[column]] as const)
      .filter(isGiven),
  )

describe('what real libraries send', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await createHarness()
  })
  afterAll(() => harness.stop())

  /** A span as a reader sees it, in the words of the corpus. */
  async function asExpected(place: Span, expected: Record<string, unknown>) {
    const { span, columns, messages } = await readSpan(harness, place)
    const tokens = shown(TOKENS, columns)
    return {
      name: span.name,
      ...shown(COLUMNS, columns),
      ...(Object.keys(tokens).length > 0 ? { tokens } : {}),
      ...('input' in expected ? { input: messages.input } : {}),
      ...('output' in expected ? { output: messages.output } : {}),
    }
  }

  /** The traces of the spans as the list shows them, in the words of the corpus. */
  async function listed(spans: readonly Span[]) {
    await harness.rolledUp()
    await harness.extracted()
    const ids = [...new Set(spans.map(({ traceId }) => traceId))].join()
    const path = `/api/traces?trace=${ids}&excerpts=1024&sort=oldest`
    const { traces } = (await (await ask(harness, path)).json()) as { traces: ListedTrace[] }
    return traces.map(({ name, llm_calls: calls, tokens, input, output }) => ({
      name,
      calls,
      tokens: { input: tokens.input, output: tokens.output },
      input: input?.trim(),
      output: output?.trim(),
    }))
  }

  it.each(RECORDINGS)('becomes the rows and messages that a reader expects: %s', async (name) => {
    const index = RECORDINGS.indexOf(name)
    const recording = withTraceIdsOf(withTimesOfNow(read(`${name}.json`)), index)
    const answer = await harness.post(recording, { 'content-type': JSON_TYPE })
    expect([answer.status, await answer.json()]).toEqual([200, {}])
    const parsed = JSON.parse(recording) as Recording
    const spans = parsed.resourceSpans.flatMap(({ scopeSpans }) =>
      scopeSpans.flatMap((one) => one.spans),
    )
    const expected = JSON.parse(read(`${name}.expected.json`)) as Expected
    const given = expected.spans.map((one) =>
      Object.fromEntries(Object.entries(one).filter(isGiven)),
    )
    const rows = []
    for (const [index, span] of spans.entries())
      rows.push(await asExpected(span, given[index] ?? {}))
    expect(rows).toEqual(given)
    if (expected.traces) expect(await listed(spans)).toMatchObject(expected.traces)
  })
})
