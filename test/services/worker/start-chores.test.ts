import postgres from 'postgres'
import { describe, expect, it } from 'vitest'
import { removeAutomation } from '../../../services/platform/crews/automation-life.ts'
import { hasDueCrews } from '../../../services/platform/crews/crew-leases.ts'
import { hasDuePulls } from '../../../services/platform/crews/source-repositories.ts'
import { hasDueCases } from '../../../services/platform/evaluations/evaluation-queue.ts'
import { hasDueReplays } from '../../../services/platform/replays/replay-queue.ts'
import { takeRuns } from '../../../services/platform/runs/run-queue.ts'
import { hasDueLines } from '../../../services/platform/webhooks/webhook-outbox.ts'
import { noTracing } from '../../../services/worker/run/run-trace.ts'
import { listChores, startChores } from '../../../services/worker/start-chores.ts'
import type { Lane } from '../../../services/worker/start-chores.ts'
import { seedAutomation } from '../../support/platform.ts'
import { useDatabase } from '../../support/use-database.ts'
import { silent } from './harness.ts'

const at = useDatabase()

/** Begins with the chores at once, and keeps each statement that they send. */
function openChores(more: readonly Lane[] = []) {
  const statements: string[] = []
  const transform = { column: { from: postgres.toCamel }, undefined: null }
  const sql = postgres(at.url, {
    transform,
    fetch_types: false,
    debug: (_, query) => void statements.push(query),
  })
  const config = { QUEUED_RUNS_MAX: 0, SECRET_KEY_BASE: 'k'.repeat(32) }
  const conditions = [hasDueCrews, hasDuePulls, hasDueCases, hasDueReplays, hasDueLines]
  const woken: string[] = []
  const known = conditions.map((isDue) => ({
    name: isDue.name,
    isDue,
    wake: () => void woken.push(isDue.name),
  }))
  const lanes = [...known, ...more]
  const collector = { collectorUrl: 'http://127.0.0.1:9', secret: 's' }
  const deps = { sql, log: silent, tracing: noTracing, prices: [], lanes, config, collector }
  const chores = startChores(sql, listChores(deps), silent)
  const close = async () => {
    await chores.stop()
    await sql.end()
  }
  return { statements, woken, sql, close }
}

describe('what a worker does by the clock', () => {
  it('is asked for in one statement while nothing is due, and so is the queue', async () => {
    // Which is done once a minute, and was last when the database was made.
    await at.sql`update receipt_log set swept_at = now()`
    const { statements, woken, sql, close } = openChores()
    const channel = 'queue_00000000-0000-4000-8000-000000000001'
    const look = () => takeRuns(sql, 10, { channel, onEmpty: () => {} })
    await look()
    await expect
      .poll(() => statements.filter((each) => each.includes('kickoff_keys')))
      .toHaveLength(1)
    const entered = statements.length
    await look()
    expect(statements.slice(entered)).toEqual([expect.stringContaining('look_at_queue')])
    await close()
    expect(statements.filter((each) => !each.includes('look_at_queue'))).toEqual([
      expect.stringContaining('select json_build_array'),
    ])
    expect(woken).toEqual([])
  })

  it('wakes the loops of which something is due, for what they did not hear of', async () => {
    let wake = (): void => {}
    const isWoken = new Promise<void>((resolve) => (wake = resolve))
    const { close } = openChores([{ name: 'a loop', isDue: (sql) => sql`true`, wake }])
    await isWoken
    await close()
  })

  it('is done when it is due', async () => {
    const automation = await seedAutomation(at.sql, { organization: 'Acme', slug: 'gone' })
    await removeAutomation(at.sql, automation)
    const { close } = openChores()
    const left = async () => (await at.sql`select from deployments`).count
    await expect.poll(left).toBe(0)
    await close()
  })
})
