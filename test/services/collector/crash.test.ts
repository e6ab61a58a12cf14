import { expect, it } from 'vitest'
import { runFaults } from '../../faults/run-faults.ts'
import { programPath } from '../../support/program.ts'

/** The short form of `npm run test:long -- faults`, over HTTP and gRPC at once. */
it('loses and doubles no acknowledged span when killed under load (SPEC 1.5)', async () => {
  const seed = Math.floor(Math.random() * 1e9)
  const main = programPath('collector')
  const options = { kills: 2, replicas: 2, main, seed, stopsSeconds: [1], spansBetween: 150 }
  expect(await runFaults(options), `seed ${seed}`).toMatchObject({
    missing: 0,
    isRight: true,
    exitCodes: [0, 0],
  })
}, 180_000)
