import { expect, it } from 'vitest'
import { deploySource, rollBack } from '../../../../services/platform/crews/crew-deployments.ts'
import {
  IMAGES_KEPT,
  keepImages,
  noteGarbage,
  takeGarbage,
} from '../../../../services/platform/crews/crew-images.ts'
import { freeImages } from '../../../../services/worker/deployments/start-crews.ts'
import {
  countCrewStorage,
  requireStorage,
} from '../../../../services/platform/crews/crew-storage.ts'
import { seedOwnAutomation, seedSource } from '../../../support/own-crew.ts'
import { useDatabase } from '../../../support/use-database.ts'

const database = useDatabase()

/** An automation with some deployments, each of which has an image; the last one is online. */
async function deployImages(name: string, count: number) {
  const { sql } = database
  const { id: deploymentId, organizationId } = await seedOwnAutomation(sql, name, name)
  const key = { deploymentId, createdBy: null }
  const source = await seedSource(sql, { organizationId })
  for (let number = 1; number <= count; number += 1) await deploySource(sql, key, source.id)
  await sql`
    update crew_deployments set image = 'registry/crew@sha256:' || number,
      image_layers = jsonb_build_array(
        jsonb_build_object('digest', 'sha256:base', 'size', 1000),
        jsonb_build_object('digest', 'sha256:' || number, 'size', number)),
      ended_at = case when number < ${count} then now() end
    where deployment_id = ${deploymentId}`
  return { key, organizationId, sourceBytes: source.size }
}

it('images of the last deployments are kept, and those that run', async () => {
  const { key } = await deployImages('Acme', IMAGES_KEPT + 3)
  await rollBack(database.sql, key, 2)
  const kept = await keepImages(database.sql, key)
  const images = ['2', '5', '6', '7', '8'].map((digest) => `registry/crew@sha256:${digest}`)
  expect(kept.toSorted()).toEqual(images)
  expect(await keepImages(database.sql, key)).toHaveLength(IMAGES_KEPT)
})

it('what images of an organization share counts once, beside its sources', async () => {
  const { organizationId, sourceBytes } = await deployImages('Globex', 3)
  const counted = await countCrewStorage(database.sql, organizationId)
  expect(counted).toEqual({ sourceBytes, imageBytes: 1000 + 1 + 2 + 3 })
  const quotaBytes = sourceBytes + 1006
  const quota = { organizationId, quotaBytes }
  await requireStorage(database.sql, quota, 0)
  await expect(requireStorage(database.sql, quota, 1)).rejects.toMatchObject({
    code: 'conflict',
    details: { image_bytes: 1006, max_bytes: quotaBytes },
  })
})

it('room is freed once a day at most, by one worker, and while no crew is built', async () => {
  const { sql } = database
  const { key } = await deployImages('Initech', 1)
  expect(await takeGarbage(sql)).toBe(false)
  await noteGarbage(sql)
  const { deploymentId } = key
  await sql`update crew_deployments set state = 'Building' where deployment_id = ${deploymentId}`
  expect(await takeGarbage(sql)).toBe(false)
  await sql`update crew_deployments set state = 'Deploying' where deployment_id = ${deploymentId}`
  const takers = await Promise.all([takeGarbage(sql), takeGarbage(sql)])
  expect(takers.toSorted()).toEqual([false, true])
  await noteGarbage(sql)
  expect(await takeGarbage(sql)).toBe(false)
  await sql`update registry_upkeep set collected_at = now() - interval '25 hours'`
  expect(await takeGarbage(sql)).toBe(true)
})

it('room that could not be freed is freed the next time', async () => {
  const { sql } = database
  await sql`update registry_upkeep set garbage_since = null, collected_at = null`
  let freed = 0
  let isAway = true
  const host = {
    async freeImages() {
      if (isAway) throw new Error('the registry is away')
      freed += 1
    },
  }
  expect(await freeImages({ sql, host })).toBe(0)
  await noteGarbage(sql)
  await expect(freeImages({ sql, host })).rejects.toThrow('the registry is away')
  isAway = false
  expect(await freeImages({ sql, host })).toBe(0)
  await sql`update registry_upkeep set collected_at = now() - interval '25 hours'`
  expect(await freeImages({ sql, host })).toBe(1)
  expect(freed).toBe(1)
})
