import { dirname } from 'node:path'
import { expect, it } from 'vitest'
import { faultRuns } from '../../faults/runs/run-faults.ts'
import { programPath } from '../../support/program.ts'

/** The short form of `npm run test:long -- faults runs`. */
it('pays for no step twice when worker, crew and database are killed or replaced', async () => {
  const seed = Math.floor(Math.random() * 1e9)
  const programs = dirname(dirname(programPath('worker')))
  const options = { kills: 3, seed, programs, callsBetween: 20, runs: 4 }
  expect(await faultRuns(options), `seed ${seed}`).toMatchObject({
    paidTwice: [],
    wrong: [],
    isRight: true,
    exitCodes: [0, 0],
  })
}, 180_000)
