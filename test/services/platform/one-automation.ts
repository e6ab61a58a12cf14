import { beforeAll, beforeEach } from 'vitest'
import type { Automation } from '../../../services/platform/automations/automations.ts'
import { takeRuns } from '../../../services/platform/runs/run-queue.ts'
import type { LeasedRun } from '../../../services/platform/runs/run-queue.ts'
import { kickoff } from '../../../services/platform/runs/runs.ts'
import type { Database } from '../../../services/shared/postgres/database.ts'
import { seedAutomation } from '../../support/platform.ts'
import { useDatabase } from '../../support/use-database.ts'

/** A database with one automation, which is there once the tests run. */
interface OneAutomation {
  readonly sql: Database
  readonly automation: Automation
  /** Queues a run; returns its id. */
  enqueue(inputs?: Record<string, unknown>): Promise<string>
  /** Takes the run at the head of the queue. Raises an error when there is none. */
  takeOne(): Promise<LeasedRun>
}

/** Gives the tests of a file a database with one automation, and each test an empty queue. */
export function useOneAutomation(): OneAutomation {
  const database = useDatabase()
  let automation: Automation
  beforeAll(async () => {
    automation = await seedAutomation(database.sql, { organization: 'Acme', slug: 'research' })
  })
  beforeEach(async () => {
    await database.sql`delete from executions`
  })
  return {
    get sql() {
      return database.sql
    },
    get automation() {
      return automation
    },
    enqueue: (inputs = { topic: 'x' }) =>
      kickoff(database.sql, { deploymentId: automation.id, inputs }),
    async takeOne() {
      const [taken] = await takeRuns(database.sql, 1)
      if (!taken) throw new Error('nothing to take')
      return taken
    },
  }
}
