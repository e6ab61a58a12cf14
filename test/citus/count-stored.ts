import { audit } from '../services/collector/support/ledger.ts'
import type { Audit } from '../services/collector/support/ledger.ts'
import { until } from '../support/until.ts'
import { withNode } from './stage.ts'

/** What a trace database has of the spans that were acknowledged. */
export interface Stored extends Audit {
  readonly acknowledged: number
  /** Traces in the roll-ups. */
  readonly rolledUp: number
  /** Each is stored once and rolled up, and nothing else is there. */
  readonly isRight: boolean
}

/** Waits for the roll-ups of a database, and counts. */
export const countStored = (url: string, ids: readonly string[]): Promise<Stored> =>
  withNode(url, async (sql) => {
    await until(async () => (await sql`select from touched_traces`).length === 0, {
      timeoutMs: 120_000,
    })
    const found = await audit(sql, ids)
    const [row] = await sql<{ traces: number }[]>`select count(*)::int as traces from traces`
    const rolledUp = row?.traces ?? 0
    const acknowledged = ids.length
    const isRight =
      found.missing === 0 &&
      [found.rows, found.spans, rolledUp].every((count) => count === acknowledged)
    return { ...found, acknowledged, rolledUp, isRight }
  })
