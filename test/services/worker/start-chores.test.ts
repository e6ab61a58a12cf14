import postgres from 'postgres'
import { describe, expect, it } from 'vitest'
import { removeAutomation } from '../../../services/platform/crews/automation-life.ts'
import { takeRuns } from '../../../services/platform/runs/run-queue.ts'
import { noTracing } from '../../../services/worker/run/run-trace.ts'
import { listChores, startChores } from '../../../services/worker/start-chores.ts'
import { seedAutomation } from '../../support/platform.ts'
import { useDatabase } from '../../support/use-database.ts'
import { silent } from './harness.ts'

const at = useDatabase()

/** Begins with the chores at once, and keeps each statement that they send. */
function openChores() {
  const statements: string[] = []
  const transform = { column: { from: postgres.toCamel }, undefined: null }
  const sql = postgres(at.url, {
    transform,
    fetch_types: false,
    debug: (_, query) => void statements.push(query),
  })
  const config = { QUEUED_RUNS_MAX: 0, SECRET_KEY_BASE: 'k'.repeat(32) }
  const deps = { sql, log: silent, tracing: noTracing, prices: [], config }
  const chores = startChores(sql, listChores(deps), silent)
  const close = async () => {
    await chores.stop()
    await sql.end()
  }
  return { statements, sql, close }
}

describe('what a worker does by the clock', () => {
  it('is asked for in one statement while nothing is due, and so is the queue', async () => {
    const { statements, sql, close } = openChores()
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
