import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PROMOTED_COLUMNS } from '../../../services/collector/conventions/columns.ts'
import { dayOf, partitionName } from '../../../services/collector/store/spans/partitions.ts'
import { createHarness } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import { nanos, requestOf, spanOf, textAttribute, toProtobuf } from './support/otlp.ts'
import type { OtlpSpan } from './support/otlp.ts'
import { citusUrl } from '../../support/citus.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const now = Date.now()

const at = (ms: number): OtlpSpan => ({
  startTimeUnixNano: nanos(ms),
  endTimeUnixNano: nanos(ms + 1000),
})
const calls = (ms: number, given: OtlpSpan = {}): OtlpSpan =>
  spanOf({ ...at(ms), attributes: [textAttribute('gen_ai.operation.name', 'chat')], ...given })

describe('the views for readers', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await createHarness()
  })
  afterAll(() => harness.stop())

  const send = async (...spans: OtlpSpan[]): Promise<void> => {
    expect(await (await harness.post(toProtobuf(requestOf(...spans)))).text()).toBe('')
  }
  const columnsOf = async (table: string): Promise<string[]> => {
    const rows = await harness.sql`
      select attname as name from pg_attribute
      where attrelid = ${table}::regclass and attnum > 0 and not attisdropped`
    return rows.map(({ name }) => String(name)).toSorted()
  }
  const shown = async (): Promise<string[]> =>
    [...(await columnsOf('spans')), 'end_time', 'other_attributes'].toSorted()

  it.each(['live_spans', 'llm_calls'])('%s shows every column of spans', async (view) => {
    const hint = 'a migration that adds a column ends with `select refresh_span_views();`'
    expect(await columnsOf(view), hint).toEqual(await shown())
  })

  it('show every promoted column', async () => {
    const columns = await columnsOf('llm_calls')
    expect(columns).toEqual(expect.arrayContaining(PROMOTED_COLUMNS.map(({ column }) => column)))
  })

  it.each([
    ['an hour before it', -59 * MINUTE_MS],
    ['with it', 0],
    ['almost a day after it', DAY_MS - MINUTE_MS],
  ])('leave out a call that has another one below it which begins %s', async (_, later) => {
    const { traceId = '' } = spanOf()
    const outer = calls(now - 2 * DAY_MS, { traceId })
    const between = spanOf({ ...at(now - 2 * DAY_MS), traceId, parentSpanId: outer.spanId ?? '' })
    const begin = now - 2 * DAY_MS + later
    const inner = calls(begin, { traceId, parentSpanId: between.spanId ?? '' })
    await send(outer, between, inner)
    const rows = await harness.sql`
      select lpad(to_hex(span_id), 16, '0') as id from llm_calls
      where trace_id = ${traceId}::uuid`
    expect(rows).toEqual([{ id: inner.spanId }])
  })

  // Citus shows a plan of another form.
  it.skipIf(citusUrl)(
    'look for what is below a call only in the days where it can be',
    async () => {
      for (let day = 0; day < 7; day++) await send(spanOf(at(now - day * DAY_MS + MINUTE_MS)))
      const time = now - 4 * DAY_MS
      const { traceId = '' } = spanOf()
      const outer = calls(time, { traceId })
      await send(outer, calls(time, { traceId, parentSpanId: outer.spanId ?? '' }))
      const [row] = await harness.sql`
      explain (analyze, timing off, costs off, format json)
      select from llm_calls where trace_id = ${traceId}::uuid`
      const visited = relationsBelowCalls(Object.values(row ?? {})[0])
      const near = [-1, 0, 1].map((day) => partitionName(dayOf(time) + day))
      expect([...visited].filter((name) => !near.includes(name))).toEqual([])
      expect(visited).toContain(partitionName(dayOf(time)))
    },
  )

  it('take in a new column, also while other views depend on them', async () => {
    await harness.sql`create view mine as select trace_id, name from llm_calls`
    await harness.sql`alter table spans add column mood text`
    for (let time = 0; time < 2; time++) await harness.sql`select refresh_span_views()`
    for (const view of ['live_spans', 'llm_calls']) {
      expect(await columnsOf(view)).toEqual(await shown())
    }
    await send(spanOf())
  })
})

interface PlanNode {
  'Relation Name'?: string
  Alias?: string
  'Actual Loops'?: number
  Plans?: PlanNode[]
}

/** The tables that were really read to look below a call. */
function relationsBelowCalls(plan: unknown): Set<string> {
  const found = new Set<string>()
  const walk = (node: PlanNode): void => {
    const name = node['Relation Name']
    const isBelow = /^(child|near)\b/.test(node.Alias?.replace(/_\d+$/, '') ?? '')
    if (isBelow && name && (node['Actual Loops'] ?? 0) > 0) found.add(name)
    for (const child of node.Plans ?? []) walk(child)
  }
  for (const { Plan } of plan as { Plan: PlanNode }[]) walk(Plan)
  return found
}
