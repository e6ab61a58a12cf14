import * as fc from 'fast-check'
import { beforeAll, describe, it } from 'vitest'
import type { Automation } from '../../../../../services/platform/automations/automations.ts'
import { seedAutomation } from '../../../../support/platform.ts'
import { useDatabase } from '../../../../support/use-database.ts'
import { histories } from './commands.ts'
import { createModel } from './model.ts'

/** Histories of the queue; `FUZZ_RUNS=500` is the long form. */
const RUNS = Number(process.env['FUZZ_RUNS'] ?? 20)
const MINUTES = 60_000

const at = useDatabase()
let automations: Automation[]

beforeAll(async () => {
  automations = []
  for (const [organization, count] of Object.entries({ Large: 4, Small: 2, One: 1 })) {
    for (let index = 0; index < count; index += 1) {
      const slug = `${organization.toLowerCase()}-${index}`
      automations.push(await seedAutomation(at.sql, { organization, slug }))
    }
  }
})

async function setup() {
  await at.sql`delete from executions`
  await at.sql`
    update deployments set concurrency_max = null, halted_at = null, status = 'Crew is Online'`
  return { model: createModel(automations), real: at.sql }
}

describe('the queue, whatever happens to it', () => {
  it(
    'takes what may start and nothing else, once, in turns, and within the limits',
    async () => {
      await fc.assert(
        fc.asyncProperty(histories, (history) => fc.asyncModelRun(setup, history)),
        { numRuns: RUNS },
      )
    },
    60 * MINUTES,
  )
})
