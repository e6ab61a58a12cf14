import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Check } from '../../../services/platform/evaluations/checks.ts'
import {
  getTraceScoreRule,
  listScoredTraceDays,
  listTraceScores,
  saveTraceScoreRule,
} from '../../../services/platform/evaluations/trace-scores.ts'
import { startTraceScores } from '../../../services/worker/evaluations/start-trace-scores.ts'
import { createFileHandover } from '../../../services/worker/run/hand-files.ts'
import { seedAutomation } from '../../support/platform.ts'
import { createHarness, SECRET } from '../collector/support/harness.ts'
import type { Harness } from '../collector/support/harness.ts'
import { requestOf, spanOf, textAttribute, toProtobuf } from '../collector/support/otlp.ts'
import { tenantOf } from '../collector/support/tokens.ts'
import { useOneAutomation } from '../platform/one-automation.ts'
import { SECRET_KEY_BASE, silent } from './harness.ts'

const platform = useOneAutomation()
const MINUTE = 60_000
const CHECKS: readonly Check[] = [
  { type: 'contains', text: 'tide' },
  { type: 'tool_not_called', tool: 'mail' },
]
let source: Harness
let own: number
let other: number
const stops: (() => Promise<void>)[] = []

beforeAll(async () => {
  source = await createHarness()
  own = platform.automation.organizationId
  const another = { organization: 'Other', slug: 'other' }
  other = (await seedAutomation(platform.sql, another)).organizationId
})

afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
  await platform.sql`delete from trace_scores`
  await platform.sql`delete from trace_score_rules`
})

afterAll(() => source.stop())

interface Sent {
  readonly organization?: number
  readonly id?: string
  readonly output?: string
  readonly tool?: string
  readonly isError?: boolean
  /** Milliseconds from now to its end. */
  readonly endedAgo?: number
}

const said = (role: string, content: string): string =>
  JSON.stringify([{ role, parts: [{ type: 'text', content }] }])

/** Sends a trace as another program does; returns its id. */
async function send(given: Sent = {}): Promise<string> {
  const { organization = own, id = randomBytes(16).toString('hex'), output = 'The tide.' } = given
  const end = Date.now() - (given.endedAgo ?? MINUTE)
  const at = (ms: number) => `${BigInt(ms) * 1_000_000n}`
  const times = { startTimeUnixNano: at(end - 2000), endTimeUnixNano: at(end) }
  const root = spanOf({
    traceId: id,
    name: 'chat',
    ...times,
    ...(given.isError ? { status: { code: 2 } } : {}),
    attributes: [
      textAttribute('gen_ai.operation.name', 'chat'),
      textAttribute('gen_ai.request.model', 'gpt-5-mini'),
      textAttribute('gen_ai.input.messages', said('user', 'What moves the sea?')),
      textAttribute('gen_ai.output.messages', said('assistant', output)),
    ],
  })
  const call = spanOf({
    traceId: id,
    parentSpanId: root.spanId ?? '',
    name: 'execute_tool',
    ...times,
    attributes: [
      textAttribute('gen_ai.operation.name', 'execute_tool'),
      textAttribute('gen_ai.tool.name', given.tool ?? ''),
    ],
  })
  const spans = given.tool === undefined ? [root] : [root, call]
  await tenantOf(source, String(organization)).send(toProtobuf(requestOf(...spans)))
  return id
}

/** Scores what was sent, as a worker does. */
async function score(
  rule: { share?: number; checks?: readonly Check[]; service?: string | null } = {},
  collectorUrl = source.collector.url,
): Promise<void> {
  const { sql } = platform
  await source.rolledUp()
  const all = { share: 100, service: null, checks: CHECKS, ...rule }
  await saveTraceScoreRule(sql, own, all)
  await sql`update trace_score_rules set scored_since = now() - interval '1 hour'`
  const worker = startTraceScores({
    sql,
    log: silent,
    prices: [],
    secretKeyBase: SECRET_KEY_BASE,
    readVariable: () => undefined,
    crewPatienceMs: 100,
    handFiles: createFileHandover(sql),
    collector: { collectorUrl, secret: SECRET },
  })
  stops.push(() => worker.stop(0))
  worker.wake()
  const isLooked = async () => {
    const [row] = await sql`
      select from trace_score_rules where lease_id is null and due_at > now()`
    return row !== undefined
  }
  await expect.poll(isLooked, { timeout: 20_000 }).toBe(true)
}

const found = async () =>
  new Map(
    (await listTraceScores(platform.sql, own, { state: null, limit: 100 })).map((each) => [
      each.traceId,
      each,
    ]),
  )

describe('scores of traces of other programs', { timeout: 60_000 }, () => {
  it('say what checks find of each, by day, and leave out what is no such trace', async () => {
    const { sql, automation } = platform
    const good = await send()
    const bad = await send({ output: 'Nothing.' })
    const called = await send({ tool: 'mail' })
    const rivals = await send({ organization: other })
    const late = await send({ endedAgo: 0 })
    const failed = await send({ isError: true })
    const kickoffId = randomUUID()
    await sql`
      insert into executions (id, deployment_id, inputs, status, output, finished_at)
      values (${kickoffId}, ${automation.id}, '{}', 'completed', 'x', now())`
    const run = await send({ id: kickoffId.replaceAll('-', '') })
    await score()
    const scores = await found()
    expect(scores.get(good)).toMatchObject({ state: 'passed', tokens: 0 })
    expect(scores.get(bad)).toMatchObject({ state: 'failed' })
    expect(scores.get(called)?.findings).toMatchObject([{ state: 'passed' }, { state: 'failed' }])
    for (const each of [rivals, late, failed, run]) expect(scores.has(each)).toBe(false)
    expect(await listScoredTraceDays(sql, own, 30)).toMatchObject([
      { passed: 1, failed: 2, errors: 0 },
    ])
    expect(await listScoredTraceDays(sql, other, 30)).toEqual([])
  })

  it('are made once, of the share, and of the service alone', async () => {
    const id = await send()
    await score({ service: 'another-service' })
    expect((await found()).has(id)).toBe(false)
    await score()
    const first = (await found()).get(id)
    await score({ checks: [{ type: 'contains', text: 'moon' }] })
    expect(first?.state).toBe('passed')
    expect((await found()).get(id)).toEqual(first)
  })

  it('say that a judge cannot be asked without a Runner', async () => {
    const id = await send()
    await score({ checks: [{ type: 'judge', model: 'm', rubric: 'Good?', times: 1 }] })
    expect((await found()).get(id)).toMatchObject({
      state: 'error',
      findings: [{ type: 'judge', state: 'error', reason: expect.stringMatching(/no Runner/) }],
    })
  })

  it('wait while the collector is unavailable, and the rule says so', async () => {
    await send()
    await score({}, 'http://127.0.0.1:9')
    expect(await getTraceScoreRule(platform.sql, own)).toMatchObject({
      problem: expect.stringMatching(/collector/i),
    })
    expect((await found()).size).toBe(0)
  })
})
