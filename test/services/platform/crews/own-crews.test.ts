import { describe, expect, it } from 'vitest'
import {
  findAutomation,
  getDefinition,
} from '../../../../services/platform/automations/automations.ts'
import type { Automation } from '../../../../services/platform/automations/automations.ts'
import { CREW_STORAGE_BYTES } from '../../../../services/platform/crews/crew-storage.ts'
import {
  deployAgain,
  deploySource,
  findCrewDeployment,
  listCrewDeployments,
  rollBack,
} from '../../../../services/platform/crews/crew-deployments.ts'
import {
  LOG_BYTES_MAX,
  appendCrewLog,
  readCrewLog,
} from '../../../../services/platform/crews/crew-logs.ts'
import {
  findDemand,
  releaseCrew,
  renewCrew,
  takeCrew,
  wakeSleepers,
} from '../../../../services/platform/crews/crew-leases.ts'
import type { LeasedCrew } from '../../../../services/platform/crews/crew-leases.ts'
import { finishRemoval } from '../../../../services/platform/crews/crew-removal.ts'
import { reportCrew } from '../../../../services/platform/crews/crew-reports.ts'
import type { CrewReport } from '../../../../services/platform/crews/crew-reports.ts'
import {
  findCrewSettings,
  removeCrew,
  restartCrew,
  saveCrewSettings,
  startCrew,
  stopCrew,
} from '../../../../services/platform/crews/crew-settings.ts'
import {
  VARIABLES_MAX,
  createVariableSeals,
  deleteCrewVariable,
  listCrewVariables,
  loadDeployedVariables,
  setCrewVariable,
} from '../../../../services/platform/crews/crew-variables.ts'
import { createOwnAutomation } from '../../../../services/platform/crews/own-crews.ts'
import { createVersion } from '../../../../services/platform/projects/project-versions.ts'
import { putBackReplay, takeReplays } from '../../../../services/platform/replays/replay-queue.ts'
import { createReplay } from '../../../../services/platform/replays/replays.ts'
import { takeRuns } from '../../../../services/platform/runs/run-queue.ts'
import { kickoff } from '../../../../services/platform/runs/runs.ts'
import {
  SOURCES_KEPT,
  findSource,
  forgetSources,
  loadSource,
} from '../../../../services/platform/crews/sources.ts'
import { createLog } from '../../../../services/shared/log.ts'
import { resealKeys } from '../../../../services/tasks/reseal-keys.ts'
import { definition } from '../../../support/crew.ts'
import { seedOwnAutomation, seedSource } from '../../../support/own-crew.ts'
import { seedAutomation } from '../../../support/platform.ts'
import { useDatabase } from '../../../support/use-database.ts'

const database = useDatabase()
const URL = 'http://127.0.0.1:9'

/** An automation of its own for each test, in an organization of its own. */
let made = 0
async function createOne(): Promise<Automation & { deploymentId: number; createdBy: null }> {
  made += 1
  const automation = await seedOwnAutomation(database.sql, `Crew ${made}`, `Org ${made}`)
  return { ...automation, deploymentId: automation.id, createdBy: null }
}

async function deployOne(text = 'one') {
  const automation = await createOne()
  const source = await seedSource(database.sql, automation, { text })
  const deployment = await deploySource(database.sql, automation, source.id)
  return { automation, source, deployment }
}

/** Takes crews until it is this one's turn. */
async function take({ id }: { id: number }): Promise<LeasedCrew> {
  await database.sql`
    update crew_settings set due_at = now() + interval '1 day' where deployment_id <> ${id}`
  const taken = await takeCrew(database.sql)
  if (!taken) throw new Error('nothing to take')
  return taken
}

const report = (lease: LeasedCrew, crewDeploymentId: number, what: CrewReport) =>
  reportCrew(database.sql, { lease, crewDeploymentId }, what)

async function bringOnline(automation: Automation, crewDeploymentId: number, inputs?: string[]) {
  const lease = await take(automation)
  await report(lease, crewDeploymentId, { state: 'Crew is Online', url: URL, inputs })
  await releaseCrew(database.sql, lease, 60)
}

const statesOf = async (automation: { deploymentId: number }) =>
  (await listCrewDeployments(database.sql, automation, { limit: 10 })).map(
    ({ number, state, reason }) => [number, state, reason],
  )

/** Takes what is due, and counts the runs of an automation among it. */
async function takenOf({ id }: { readonly id: number }): Promise<number> {
  const taken = await takeRuns(database.sql, 100)
  return taken.filter(({ deploymentId }) => deploymentId === id).length
}

describe('a source', () => {
  it('is stored once, however often it is sent', async () => {
    const automation = await createOne()
    const text = 'x'.repeat(1024 * 1024 + 5)
    const first = await seedSource(database.sql, automation, { text })
    const second = await seedSource(database.sql, automation, { text })
    expect(second.id).toBe(first.id)
    const parts: Buffer[] = []
    for await (const part of loadSource(database.sql, first.id)) parts.push(part)
    expect(Buffer.concat(parts).toString()).toBe(text)
    expect(parts).toHaveLength(2)
    const [{ count }] = await database.sql<[{ count: number }]>`
      select count(*)::int from source_parts where source_id <> ${first.id} and source_id in (
        select id from sources where organization_id = ${automation.organizationId})`
    expect(count).toBe(0)
  })

  it('is another one for another commit with the same files', async () => {
    const automation = await createOne()
    const at = (commit: string) => ({
      git: { url: 'https://git.example/a.git', ref: 'main', commit: commit.repeat(40) },
    })
    const first = await seedSource(database.sql, automation, at('a'))
    expect(first).toMatchObject({ kind: 'git', gitCommit: 'a'.repeat(40) })
    expect((await seedSource(database.sql, automation, at('b'))).id).not.toBe(first.id)
    expect((await seedSource(database.sql, automation, at('a'))).id).toBe(first.id)
  })

  it('is refused when the organization has no room left', async () => {
    const { automation, source } = await deployOne()
    await database.sql`update sources set size = 67108864 where id = ${source.id}`
    await database.sql`
      insert into sources (organization_id, digest, kind, name, archive_sha256, size,
        unpacked_size, file_count)
      select organization_id, sha256(n::text::bytea), kind, name, archive_sha256, size,
        unpacked_size, file_count
      from sources, generate_series(1, ${CREW_STORAGE_BYTES / 67108864 - 1}) n
      where id = ${source.id}`
    await expect(seedSource(database.sql, automation, { text: 'more' })).rejects.toThrow(
      /together they may have 10737418240/,
    )
  })

  it('loses its files after 20 more deployments, and has them again when it is sent', async () => {
    const { automation, source } = await deployOne('old')
    for (let number = 0; number < SOURCES_KEPT; number += 1) {
      const next = await seedSource(database.sql, automation, { text: `next ${number}` })
      await deploySource(database.sql, automation, next.id)
    }
    const { organizationId } = automation
    expect(await forgetSources(database.sql, organizationId)).toBe(0)
    await database.sql`update sources set sent_at = now() - interval '2 days'`
    expect(await forgetSources(database.sql, organizationId)).toBe(1)
    await expect(rollBack(database.sql, automation, 1)).rejects.toThrow(/no longer kept/)
    expect((await findSource(database.sql, source.id))?.filesDeletedAt).toBeInstanceOf(Date)
    const again = await seedSource(database.sql, automation, { text: 'old' })
    expect(again).toMatchObject({ id: source.id, filesDeletedAt: null })
    await rollBack(database.sql, automation, 1)
  })

  it('is deployed by its own organization only', async () => {
    const { source } = await deployOne()
    const other = await createOne()
    await expect(deploySource(database.sql, other, source.id)).rejects.toThrow(/no such source/)
  })
})

describe('an automation from source', () => {
  it('is offline before its first deployment', async () => {
    const automation = await createOne()
    expect(automation).toMatchObject({
      status: 'Crew is Offline',
      statusReason: 'Nothing is deployed yet.',
    })
    await expect(deployAgain(database.sql, automation)).rejects.toThrow(/Nothing is deployed yet/)
    const { organizationId, name } = automation
    await expect(createOwnAutomation(database.sql, { organizationId, name })).rejects.toThrow(
      /Choose another name/,
    )
  })

  it('has versions that are sources, and takes no definition', async () => {
    const { automation, deployment } = await deployOne()
    const [project] = await database.sql<{ projectId: number; number: number }[]>`
      select project_id, number from project_versions where id = ${deployment.projectVersionId}`
    expect(project?.number).toBe(2)
    const { organizationId } = automation
    const key = { organizationId, projectId: project?.projectId ?? 0 }
    await expect(createVersion(database.sql, key, definition)).rejects.toThrow(/are sources/)
    const again = await deployAgain(database.sql, automation)
    expect(again.projectVersionId).toBe(deployment.projectVersionId)
  })

  it('goes through the states of its deployment to a crew that callers reach', async () => {
    const { automation, deployment } = await deployOne()
    const lease = await take(automation)
    expect(lease).toMatchObject({ wanted: { number: 1, state: 'Waiting' }, serving: undefined })
    await report(lease, deployment.id, { state: 'Building' })
    const find = () => findAutomation(database.sql, automation.automationId)
    expect(await find()).toMatchObject({
      status: 'Crew is Provisioning',
      statusReason: 'Deployment 1 is being built.',
    })
    await report(lease, deployment.id, { state: 'Deploying', image: 'crew@sha256:abc' })
    await report(lease, deployment.id, { state: 'Crew is Online', url: URL, inputs: ['topic'] })
    const online = await find()
    expect(online).toMatchObject({
      status: 'Crew is Online',
      statusReason: null,
      url: URL,
      projectVersionId: deployment.projectVersionId,
    })
    expect(online && (await getDefinition(database.sql, online))).toMatchObject({
      inputs: ['topic'],
      agents: [],
    })
    await report(lease, deployment.id, { state: 'Crew has Failed', reason: 'It was\0 killed.' })
    expect(await find()).toMatchObject({
      status: 'Crew has Failed',
      statusReason: 'It was killed.',
    })
    expect(await statesOf(automation)).toEqual([[1, 'Crew has Failed', 'It was killed.']])
  })

  it('stays online on the former deployment when a new one fails', async () => {
    const { automation, deployment } = await deployOne()
    await bringOnline(automation, deployment.id)
    const source = await seedSource(database.sql, automation, { text: 'broken' })
    const broken = await deploySource(database.sql, automation, source.id)
    const lease = await take(automation)
    expect(lease).toMatchObject({ wanted: { number: 2 }, serving: { number: 1 } })
    await report(lease, broken.id, { state: 'Crew has Failed', reason: 'It does not build.' })
    expect(await findAutomation(database.sql, automation.automationId)).toMatchObject({
      status: 'Crew is Online',
      projectVersionId: deployment.projectVersionId,
    })
    expect(await report(lease, broken.id, { state: 'Building' })).toBe(false)
    await releaseCrew(database.sql, lease, 0)
    expect(await take(automation)).toMatchObject({ wanted: { number: 1 }, serving: undefined })
  })

  it('goes back to an earlier deployment, with the variables of now', async () => {
    const { automation, deployment } = await deployOne()
    const set = (name: string, value: string) =>
      setCrewVariable(database.sql, { ...automation, name }, { value })
    await bringOnline(automation, deployment.id)
    const second = await seedSource(database.sql, automation, { text: 'two' })
    const later = await deploySource(database.sql, automation, second.id)
    await bringOnline(automation, later.id)
    await set('REGION', 'north')
    const back = await rollBack(database.sql, automation, 1)
    expect(back).toMatchObject({ number: 3, rolledBackFrom: 1, sourceId: deployment.sourceId })
    expect(await loadDeployedVariables(database.sql, back.id)).toMatchObject([
      { name: 'REGION', value: 'north' },
    ])
    await bringOnline(automation, back.id)
    expect(await statesOf(automation)).toEqual([
      [3, 'Crew is Online', null],
      [2, 'Replaced', 'Deployment 3 took its place.'],
      [1, 'Replaced', 'Deployment 2 took its place.'],
    ])
    await expect(rollBack(database.sql, automation, 9)).rejects.toThrow(/no deployment 9/)
  })

  it('drops a deployment that was not online yet for a newer one, with its variables', async () => {
    const { automation, deployment } = await deployOne()
    await setCrewVariable(database.sql, { ...automation, name: 'A' }, { value: '1' })
    const second = await deployAgain(database.sql, automation)
    await deployAgain(database.sql, automation)
    expect(await loadDeployedVariables(database.sql, second.id)).toEqual([])
    expect(await findCrewDeployment(database.sql, { ...automation, number: 1 })).toMatchObject({
      id: deployment.id,
      state: 'Replaced',
      reason: 'Deployment 2 took its place before it was online.',
      source: { name: 'crew.tar.gz', size: 3, fileCount: 1, isKept: true },
    })
  })
})

describe('the worker that looks after a crew', () => {
  it('is alone, until its lease runs out', async () => {
    const { automation, deployment } = await deployOne()
    const lease = await take(automation)
    expect(await takeCrew(database.sql)).toBeUndefined()
    await database.sql`
      update crew_settings set lease_until = now() - interval '1 second'
      where deployment_id = ${automation.id}`
    const next = await take(automation)
    expect(await renewCrew(database.sql, lease)).toBeUndefined()
    expect(await report(lease, deployment.id, { state: 'Building' })).toBe(false)
    expect(await renewCrew(database.sql, next)).toBe(next.change)
  })

  it('looks again at once when people changed something meanwhile', async () => {
    const { automation } = await deployOne()
    const heard: string[] = []
    const listening = await database.sql.listen('crew_deployments', (id) => heard.push(id))
    const lease = await take(automation)
    await stopCrew(database.sql, automation)
    await expect.poll(() => heard).toContain(String(automation.id))
    expect(await renewCrew(database.sql, lease)).not.toBe(lease.change)
    await releaseCrew(database.sql, lease, 60)
    const again = await take(automation)
    expect(again.stoppedAt).toBeInstanceOf(Date)
    await releaseCrew(database.sql, again, 60)
    expect(await takeCrew(database.sql)).toBeUndefined()
    await startCrew(database.sql, automation)
    await restartCrew(database.sql, automation)
    expect(await take(automation)).toMatchObject({ stoppedAt: null })
    await listening.unlisten()
  })

  it('wakes a crew that sleeps when a run waits for it', async () => {
    const { automation, deployment } = await deployOne()
    await bringOnline(automation, deployment.id)
    await startCrew(database.sql, automation)
    const lease = await take(automation)
    const isAsleep = true
    const reason = 'It sleeps until the next run.'
    await report(lease, deployment.id, { state: 'Crew is Offline', reason, isAsleep })
    await releaseCrew(database.sql, lease, 60)
    expect(await wakeSleepers(database.sql)).toBe(0)
    await kickoff(database.sql, { deploymentId: automation.id, inputs: {} })
    expect(await findDemand(database.sql, automation)).toEqual({ open: 1, lastEndedAt: null })
    expect(await wakeSleepers(database.sql)).toBe(1)
    const waking = await take(automation)
    expect(waking.wanted?.asleepSince).toBeInstanceOf(Date)
    // However long it takes: no worker has the run before the crew is there.
    expect(await takenOf(automation)).toBe(0)
    await report(waking, deployment.id, { state: 'Deploying' })
    expect(await takenOf(automation)).toBe(0)
    await report(waking, deployment.id, { state: 'Crew is Online', url: URL })
    expect(await takenOf(automation)).toBe(1)
  })

  it('is woken for runs that are to be performed again', async () => {
    const { automation, deployment } = await deployOne()
    const { sql } = database
    await bringOnline(automation, deployment.id)
    await startCrew(sql, automation)
    const start = () => kickoff(sql, { deploymentId: automation.id, inputs: {} })
    const ids = [await start(), await start(), await start()]
    await sql`update executions set status = 'completed', output = '', finished_at = now()
      where id = any (${ids}::uuid[])`
    const lease = await take(automation)
    const reason = 'It sleeps until the next run.'
    await report(lease, deployment.id, { state: 'Crew is Offline', reason, isAsleep: true })
    await releaseCrew(sql, lease, 60)
    expect(await wakeSleepers(sql)).toBe(0)
    const [{ number }] = await sql<[{ number: number }]>`
      select number from project_versions where id = ${deployment.projectVersionId}`
    const chosen = { last: 1, status: 'any', ofVersion: null, kickoffIds: ids } as const
    const fields = { version: number, mode: 'offline', tokensMax: 0, createdBy: 'test' } as const
    const projectVersionId = deployment.projectVersionId
    await sql.begin((tx) =>
      createReplay(tx, { ...automation, projectVersionId }, { ...chosen, ...fields }),
    )
    expect(await findDemand(sql, automation)).toMatchObject({ open: 3 })
    expect(await wakeSleepers(sql)).toBe(1)
    const taken = await takeReplays(sql, 2)
    const asleep = { isAsleep: true, runsVersionId: projectVersionId }
    expect(taken).toMatchObject([asleep, asleep])
    // Its places are for its runs: no worker takes more meanwhile.
    expect(await takeReplays(sql, 2)).toEqual([])
    for (const each of taken) await putBackReplay(sql, each, 60)
    expect(await takeReplays(sql, 2)).toHaveLength(1)
    await sql`delete from replays`
    expect(await findDemand(sql, automation)).toMatchObject({ open: 0 })
  })

  it('deletes all of an automation in the end', async () => {
    const { automation, deployment, source } = await deployOne()
    await bringOnline(automation, deployment.id)
    await kickoff(database.sql, { deploymentId: automation.id, inputs: {} })
    await removeCrew(database.sql, automation)
    await expect(removeCrew(database.sql, automation)).rejects.toThrow(/being deleted/)
    await expect(deployAgain(database.sql, automation)).rejects.toThrow(/being deleted/)
    const late = { deploymentId: automation.id, inputs: {} }
    await expect(kickoff(database.sql, late)).rejects.toThrow(/being deleted: it takes no more/)
    const lease = await take(automation)
    expect(lease.removingSince).toBeInstanceOf(Date)
    expect(await finishRemoval(database.sql, lease)).toBe(true)
    expect(await findAutomation(database.sql, automation.automationId)).toBeUndefined()
    expect(await findSource(database.sql, source.id)).toBeUndefined()
    const { organizationId, name } = automation
    await createOwnAutomation(database.sql, { organizationId, name })
  })
})

describe('the settings of a crew', () => {
  it('belong to the next deployment, but for its size', async () => {
    const { automation, deployment } = await deployOne()
    const settings = {
      way: 'slim',
      pythonVersion: '3.12',
      entrypoint: 'crew.main:run',
      cpuRequest: null,
      cpuLimit: '2',
      memoryRequest: null,
      memoryLimit: '1Gi',
      egress: ['api.example.com', '10.0.0.0/8'],
      replicas: 3,
      idleMinutes: 30,
    } as const
    await saveCrewSettings(database.sql, automation, settings)
    expect(await findCrewSettings(database.sql, automation.id)).toMatchObject(settings)
    expect(await take(automation)).toMatchObject({
      replicas: 3,
      idleMinutes: 30,
      wanted: { id: deployment.id, settings: { way: null, egress: [] } },
    })
    const { replicas: _, idleMinutes: __, ...built } = settings
    expect((await deployAgain(database.sql, automation)).settings).toEqual(built)
  })

  it('are those of automations from source only', async () => {
    const other = await seedAutomation(database.sql, { organization: 'Designed', slug: 'designed' })
    const key = { deploymentId: other.id, createdBy: null }
    expect(await findCrewSettings(database.sql, other.id)).toBeUndefined()
    await expect(stopCrew(database.sql, key)).rejects.toThrow(/not made from a source/)
    await expect(deployAgain(database.sql, key)).rejects.toThrow(/not made from a source/)
  })
})

describe('the variables of a crew', () => {
  const seals = createVariableSeals('k'.repeat(32))

  it('are plain or secret, and go into the next deployment', async () => {
    const { automation } = await deployOne()
    const token = { deploymentId: automation.id, name: 'TOKEN' }
    await setCrewVariable(database.sql, token, { value: 'seen' })
    const sealedValue = seals.seal('hidden', token)
    await setCrewVariable(database.sql, token, { sealedValue })
    await setCrewVariable(database.sql, { ...token, name: 'REGION' }, { value: '' })
    expect(await listCrewVariables(database.sql, automation)).toMatchObject([
      { name: 'REGION', value: '' },
      { name: 'TOKEN', value: null },
    ])
    const { id } = await deployAgain(database.sql, automation)
    const deployed = await loadDeployedVariables(database.sql, id)
    const sealed = deployed.find(({ name }) => name === 'TOKEN')?.sealedValue
    expect(sealed && seals.open(sealed, token)).toBe('hidden')
    expect(sealed && seals.open(sealed, { ...token, name: 'OTHER' })).toBeUndefined()
    expect(await deleteCrewVariable(database.sql, token)).toBe(true)
    expect(await deleteCrewVariable(database.sql, token)).toBe(false)
  })

  it('are sealed anew after a rotation, copies in deployments that go on included', async () => {
    const { automation } = await deployOne()
    const key = { deploymentId: automation.id, name: 'TOKEN' }
    await setCrewVariable(database.sql, key, { sealedValue: seals.seal('hidden', key) })
    const { id } = await deployAgain(database.sql, automation)
    await database.sql`delete from crew_variables where deployment_id <> ${automation.id}`
    await database.sql`delete from crew_deployment_variables where crew_deployment_id <> ${id}`
    const pair = { current: 'n'.repeat(32), previous: 'k'.repeat(32) }
    await resealKeys(database.sql, pair, createLog({ name: 'test', level: 'silent' }))
    const renewed = createVariableSeals(pair.current)
    const copies = await loadDeployedVariables(database.sql, id)
    const own = await database.sql<{ sealedValue: Buffer }[]>`
      select sealed_value from crew_variables where deployment_id = ${automation.id}`
    for (const { sealedValue } of [...copies, ...own]) {
      expect(sealedValue && renewed.open(sealedValue, key)).toBe('hidden')
    }
    expect([...copies, ...own]).toHaveLength(2)
  })

  it('are limited in number', async () => {
    const automation = await createOne()
    await database.sql`
      insert into crew_variables (deployment_id, name, value)
      select ${automation.id}, 'V' || n, '' from generate_series(1, ${VARIABLES_MAX}) n`
    const set = (name: string) =>
      setCrewVariable(database.sql, { ...automation, name }, { value: 'x' })
    await set('V1')
    await expect(set('ANOTHER')).rejects.toThrow(/at most 200 variables/)
  })
})

describe('the logs of a deployment', () => {
  it('are kept up to a size, and say that their beginning was cut', async () => {
    const { deployment } = await deployOne()
    const log = { crewDeploymentId: deployment.id, stream: 'build' } as const
    await appendCrewLog(database.sql, log, 'first\0 line\n')
    await appendCrewLog(database.sql, log, 'second ☃ line\n')
    const read = await readCrewLog(database.sql, log)
    expect(read).toMatchObject({ text: 'first line\nsecond ☃ line\n', isCut: false, next: 2 })
    expect(read.pieces).toEqual([
      { position: 0, at: expect.any(Date), text: 'first line\n' },
      { position: 1, at: expect.any(Date), text: 'second ☃ line\n' },
    ])
    const rest = await readCrewLog(database.sql, log, 2)
    expect(rest).toEqual({ text: '', pieces: [], isCut: false, next: 2 })
    for (let megabyte = 0; megabyte < 3; megabyte += 1) {
      await appendCrewLog(database.sql, log, '☃'.repeat(LOG_BYTES_MAX / 3))
    }
    const cut = await readCrewLog(database.sql, log)
    expect(cut.isCut).toBe(true)
    expect(cut.text.replaceAll('☃', '')).toBe('')
    expect(Buffer.byteLength(cut.text)).toBeLessThan(2.1 * LOG_BYTES_MAX)
    const other = await readCrewLog(database.sql, { ...log, stream: 'crew' })
    expect(other.text).toBe('')
  })
})
