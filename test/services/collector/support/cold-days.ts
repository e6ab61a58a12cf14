import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import {
  archiveDays,
  verifyArchived,
} from '../../../../services/collector/store/archive/archive-day.ts'
import { releaseRestored } from '../../../../services/collector/store/archive/archived-days.ts'
import { createDirectoryStore } from '../../../../services/shared/object-store/directory-store.ts'
import { parseAddress } from '../../../../services/shared/postgres/address.ts'
import { until } from '../../../support/until.ts'
import { silent } from './harness.ts'
import type { Harness } from './harness.ts'
import { freshId, nanos, spanOf, textAttribute } from './otlp.ts'
import type { OtlpSpan } from './otlp.ts'
import { tenantOf } from './tokens.ts'

export const DAY_MS = 86_400_000
/** Of today, in milliseconds since 1970. */
export const NOON = Math.floor(Date.now() / DAY_MS) * DAY_MS + DAY_MS / 2
/** In ISO 8601. */
export const dateOf = (daysAgo: number): string =>
  new Date(NOON - daysAgo * DAY_MS).toISOString().slice(0, 10)
/** What is hard to write in a column, or in a line. */
export const ODD = '\uFEFFa\tb\\N\nc\r\\.\u2028"é😀\\t'

const call = (question: string, answer: string) => [
  textAttribute('gen_ai.operation.name', 'chat'),
  textAttribute('gen_ai.request.model', 'gpt-4o'),
  textAttribute('odd', answer),
  textAttribute('session.id', `session ${question}`),
  { key: 'gen_ai.usage.input_tokens', value: { intValue: '70' } },
  { key: 'gen_ai.usage.cost', value: { doubleValue: 1e-7 } },
  textAttribute('gen_ai.input.messages', JSON.stringify([{ role: 'user', content: question }])),
  textAttribute(
    'gen_ai.output.messages',
    JSON.stringify([{ role: 'assistant', content: `${answer} ${'prose '.repeat(300)}` }]),
  ),
]

/** Without ids of requests, and without the lines of an export, of which a day begins one. */
const comparable = (path: string, text: string): string =>
  path.startsWith('/api/export')
    ? [...text.matchAll(/\{"traceId".*?\}(?=,\{"traceId"|\]\})/g)].join('\n')
    : text.replace(/"request_id":"[^"]*"/, '')

/**
 * What a reader is told, as it can be compared: of a list all of its pages, as where they end
 * depends on the time. What takes too long on a busy machine is asked again.
 */
export async function answerOf(
  harness: Parameters<typeof tenantOf>[0],
  organization: string | undefined,
  path: string,
): Promise<string> {
  const tenant = tenantOf(harness, organization)
  const ask = async (asked: string) => {
    let answer: Awaited<ReturnType<typeof tenant.ask>> | undefined
    await until(async () => (answer = await tenant.ask(asked)).status !== 504)
    return answer ?? { status: 0, text: '' }
  }
  const first = await ask(path)
  if (!path.startsWith('/api/traces?')) return `${first.status} ${comparable(path, first.text)}`
  const found: object[] = []
  let page = JSON.parse(first.text) as { traces: object[]; next_cursor: string | null }
  while (page.next_cursor !== null) {
    found.push(...page.traces)
    const { text } = await ask(`${path}&cursor=${page.next_cursor}`)
    page = JSON.parse(text) as typeof page
  }
  return `${first.status} ${JSON.stringify([...found, ...page.traces])}`
}

/** A root and a call below it, which start so many milliseconds after noon of a day. */
export function traceOf(
  daysAgo: number,
  offsetMs = 0,
  question = 'Where is the okapi?',
): OtlpSpan[] {
  const traceId = freshId() + freshId()
  const start = NOON - daysAgo * DAY_MS + offsetMs
  const root = spanOf({ traceId, parentSpanId: '', name: ODD, startTimeUnixNano: nanos(start) })
  const child = spanOf({
    traceId,
    parentSpanId: root.spanId ?? '',
    name: 'chat',
    startTimeUnixNano: `${BigInt(nanos(start)) + 1_234_567n}`,
    attributes: call(question, ODD),
    events: [{ name: 'choice', timeUnixNano: nanos(start), attributes: [textAttribute('o', ODD)] }],
  })
  return [root, child]
}

export const idOf = (spans: readonly OtlpSpan[]): string => spans[0]?.traceId ?? ''

/** Archives what a collector has stored in files of a directory, and looks at both. */
export function openArchive(harness: Harness, directory: string) {
  const { sql } = harness
  const store = createDirectoryStore(directory)
  const address = parseAddress(harness.databaseUrl)
  return {
    store,
    archive: (through = store) => archiveDays({ sql, store: through, address, log: silent }),
    verify: (daysAgo: number) => verifyArchived({ sql, store, address }, dateOf(daysAgo)),
    async filesOf(daysAgo: number): Promise<string[]> {
      const folder = join(directory, `day=${dateOf(daysAgo)}`)
      return (await readdir(folder).catch(() => [])).map((name) => join(folder, name))
    },
    async hotSpans(daysAgo: number): Promise<number> {
      const partition = sql(`spans_${dateOf(daysAgo).replaceAll('-', '')}`)
      const [row] = await sql`select count(*)::int as spans from ${partition}`
      return row?.['spans'] as number
    },
    /** As if nothing had been read for a while. */
    async release(): Promise<void> {
      await sql`update restored_traces set restored_at = now() - interval '1 hour'`
      await releaseRestored(sql)
    },
  }
}
