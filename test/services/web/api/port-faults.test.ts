import { dirname } from 'node:path'
import { expect, it } from 'vitest'
import { faultPorts } from '../../../faults/ports/run-port-faults.ts'
import { programPath } from '../../../support/program.ts'

/** The short form of `npm run test:long -- faults ports`. */
it('starts one run for each call when web, worker, clients and database are killed', async () => {
  const seed = Math.floor(Math.random() * 1e9)
  const programs = dirname(dirname(programPath('web')))
  const report = await faultPorts({ kills: 2, seed, programs })
  expect(report, `seed ${seed}`).toMatchObject({
    wrongRuns: [],
    wrongEvents: [],
    wrongDecisions: [],
    isRight: true,
  })
  expect(report.runs).toBeGreaterThan(0)
}, 180_000)
