import assert from 'node:assert/strict'
import { formerRelease } from '../bed/former-release.ts'
import { words } from '../bed/words.ts'
import { helm, kubectl, rolledOut, upgrade } from './cluster.ts'
import { freshNamespace } from './installation.ts'
import { isWell, makeCaller, query } from './platform.ts'
import { proveUpgrade } from './prove.ts'
import { crewsOf } from './step.ts'
import type { Step } from './step.ts'
import { underLoad, underRuns } from './under-load.ts'

const PLACE = 'platform-former'

const newestMigration = (): Promise<string> =>
  query(PLACE, 'platform', 'select max(version) from schema_migrations')

/** Proves the upgrade to this release and does it, goes back on the newer schema, and upgrades. */
async function thereAndBack(): Promise<string> {
  const before = await newestMigration()
  const { settings, fact } = await proveUpgrade(PLACE)
  await upgrade(PLACE, settings)
  await isWell(PLACE)
  const after = await newestMigration()
  assert(Number(after) >= Number(before), `the schema went back from ${before} to ${after}`)
  await helm(words`rollback platform 1 -n ${PLACE} --wait --timeout 10m`)
  await rolledOut(PLACE)
  await isWell(PLACE)
  assert.equal(await newestMigration(), after)
  await upgrade(PLACE)
  await isWell(PLACE)
  return fact
}

export const formerReleaseStep: Step = {
  name: 'former-release',
  sentence:
    'the release before is upgraded once that is proven on its backup, comes back by helm ' +
    'rollback on the newer schema and is upgraded again; no request fails, and no run and no ' +
    'span is lost',
  async run() {
    await freshNamespace(PLACE)
    await helm(
      words`install platform ${formerRelease.chart} --namespace ${PLACE}
        --values ${formerRelease.bedValues} --values ${formerRelease.values}
        --wait --wait-for-jobs --timeout 10m`,
    )
    await isWell(PLACE)
    let proof = ''
    const fact = await underRuns(await makeCaller(PLACE), () =>
      underLoad(PLACE, async () => {
        proof = await thereAndBack()
      }),
    )
    await helm(words`uninstall platform -n ${PLACE} --wait --timeout 10m`)
    await kubectl(words`delete namespace ${PLACE} ${crewsOf(PLACE)} --ignore-not-found --wait`)
    return `${proof}; ${fact}`
  },
}
