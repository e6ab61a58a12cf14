import type { Database } from '../../../services/shared/postgres/database.ts'
import { readListQuery } from '../../../services/collector/read/read-query.ts'
import { listTraces } from '../../../services/collector/read/trace-list.ts'
import type { TracePage } from '../../../services/collector/read/trace-list.ts'

const list = (sql: Database, query: string): Promise<TracePage> => {
  const reader = {
    ask: <Rows>(ask: (to: Database) => Promise<Rows>) => ask(sql),
  }
  return listTraces(reader, readListQuery(new URLSearchParams(query)))
}

const totals = (key: string) => (sql: Database) =>
  sql.unsafe(`
    select ${key} as key, sum(calls) as calls, sum(input_tokens) as input_tokens,
      sum(output_tokens) as output_tokens, sum(cost_usd) as cost_usd, sum(errors) as errors,
      sum(up_to_1000_ms) as up_to_1000_ms
    from usage_hourly where hour >= now() - interval '91 days' group by 1 order by 1`)

const MIDDLE = new Date(Date.now() - 45 * 86_400_000).toISOString()

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
  'totals by day': totals(`date_trunc('day', hour)`),
  'totals by crew': totals('crew_id'),
  'totals by model': totals('model'),
}
