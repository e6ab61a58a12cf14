import type { Database } from '../../../services/shared/postgres/database.ts'
import {
  countByTime,
  readHistogramQuery,
} from '../../../services/collector/read/lists/histogram.ts'
import { listSessions, readSessionQuery } from '../../../services/collector/read/lists/sessions.ts'
import { listTraces, readListQuery } from '../../../services/collector/read/lists/trace-list.ts'
import {
  readTotalsQuery,
  totalTraces,
} from '../../../services/collector/read/lists/trace-totals.ts'
import { readUsageQuery, sumUsage } from '../../../services/collector/read/lists/usage-totals.ts'
import type { Reader } from '../../../services/collector/read/reader.ts'

const readerOf = (sql: Database): Reader => ({
  organization: undefined,
  askOnce: () => Promise.reject(new Error('Lists have parameters.')),
  copyOut: () => Promise.reject(new Error('No list copies.')),
  ask: (question) => question(sql),
})

const list = (sql: Database, query: string) =>
  listTraces(readerOf(sql), readListQuery(new URLSearchParams(query)))
const totalsOf = (query: string) => (sql: Database) =>
  totalTraces(readerOf(sql), readTotalsQuery(new URLSearchParams(query)).filter)
const histogramOf = (query: string) => (sql: Database) =>
  countByTime(readerOf(sql), readHistogramQuery(new URLSearchParams(query)))
const usageOf = (query: string) => (sql: Database) =>
  sumUsage(readerOf(sql), readUsageQuery(new URLSearchParams(query)))

const MIDDLE = new Date(Date.now() - 45 * 86_400_000).toISOString()

const YESTERDAY = new Date(Date.now() - 86_400_000).toISOString()

/** What is asked of the roll-ups, by name. */
export const QUERIES: Readonly<Record<string, (sql: Database) => Promise<unknown>>> = {
  'list, the latest 50': (sql) => list(sql, ''),
  'list, 200 of the middle': (sql) => list(sql, `limit=200&to=${MIDDLE}`),
  'list, one crew': (sql) => list(sql, 'crew=crew-7'),
  'list, running': (sql) => list(sql, 'status=running'),
  'list, failed': (sql) => list(sql, 'status=error'),
  'list, a rare model': (sql) => list(sql, 'model=rare-model'),
  'list, no such model': (sql) => list(sql, 'model=none'),
  'list, one run': (sql) => list(sql, 'kickoff=c4ca4238-a0b9-2382-0dcc-509a6f75849b'),
  'list, a tool of one crew': (sql) => list(sql, 'tool=tool-3&crew=crew-3'),
  'list, the most expensive': (sql) => list(sql, 'sort=cost'),
  'list, the slowest of a day': (sql) => list(sql, `sort=duration&from=${YESTERDAY}`),
  'list, min_cost that none has': (sql) => list(sql, 'min_cost_usd=1'),
  'list, a text of a thousand spans': (sql) => list(sql, 'text=zebra-crossing'),
  'list, a text of no span': (sql) => list(sql, 'text=aardvark%20ostrich'),
  'list, a text of most spans': (sql) => list(sql, 'text=the'),
  sessions: (sql) => listSessions(readerOf(sql), readSessionQuery(new URLSearchParams())),
  'totals of traces, one day': totalsOf(`from=${YESTERDAY}`),
  'totals of traces, one crew': totalsOf('crew=crew-7'),
  'totals of traces, all': totalsOf(''),
  'totals of traces, half of the time': totalsOf(`from=${MIDDLE}&to=${YESTERDAY}`),
  'histogram, one day': histogramOf(`from=${YESTERDAY}`),
  'histogram, all': histogramOf(''),
  'histogram, half of the time by hours': histogramOf(`from=${MIDDLE}&interval=1h`),
  'totals of calls': usageOf(''),
  'totals of calls by day': usageOf('by=day'),
  'totals of calls by crew': usageOf('by=crew'),
  'totals of calls by model': usageOf('by=model'),
}
