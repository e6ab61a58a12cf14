import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { ownCrewDefinition } from '../../../../services/platform/definitions/own-crew-definition.ts'
import { findReplayedRun } from '../../../../services/platform/replays/replay-results.ts'
import {
  finishReplay,
  putBackReplay,
  takeReplays,
} from '../../../../services/platform/replays/replay-queue.ts'
import {
  createVersion,
  deleteDraft,
} from '../../../../services/platform/projects/project-versions.ts'
import { deleteReplay, listReplays } from '../../../../services/platform/replays/replays.ts'
import { startRetry } from '../../../../services/platform/runs/run-again.ts'
import { kickoff } from '../../../../services/platform/runs/runs.ts'
import { createWebhook } from '../../../../services/platform/webhooks/webhooks.ts'
import { definition } from '../../../support/crew.ts'
import { seedAutomation } from '../../../support/platform.ts'
import { refuses, says } from '../../crew/fake-model.ts'
import { begin, startBrokenCrew } from '../broken-crew.ts'
import { openReplayStage } from './stage.ts'

const stage = await openReplayStage()
const { platform, model, publishVersion, replay, sql } = stage
const [research, write] = definition.tasks

beforeEach(async () => {
  await sql`delete from replays`
  await stage.startAll()
})

afterAll(() => stage.server.stop())

/** Performs a run of a new version; returns both. */
async function record() {
  const version = await publishVersion()
  model.play(says('Facts.'), says('A summary.'))
  const id = await platform.kickoff()
  await platform.until(id, 'completed')
  return { version, id }
}

/** Counts the rows of all tables but those of replays, which nothing else may write. */
async function countRows(): Promise<Record<string, number>> {
  const tables = [
    'executions',
    'execution_events',
    'run_steps',
    'run_payloads',
    'run_artifacts',
    'run_contents',
    'run_approvals',
    'webhook_messages',
    'budget_reservations',
    'audit_entries',
    'queue_turns',
  ]
  const counts = tables.map(async (table) => {
    const [row] = await sql<[{ count: number }]>`select count(*)::int as count from ${sql(table)}`
    return [table, row.count] as const
  })
  return Object.fromEntries(await Promise.all(counts))
}

describe('a record', () => {
  it.each<[string, (id: string) => Promise<unknown>, RegExp]>([
    [
      'from before requests were recorded',
      (id) => sql`update run_steps set request_sha256 = null where run_id = ${id}`,
      /^What test-model was asked at research .* was not recorded: the run is older than these/,
    ],
    [
      'that ends in the middle',
      (id) => sql`
        update run_steps set state = 'started', result = null, ended_at = null
        where run_id = ${id} and path ->> 0 = 'write'`,
      /^The record ends in the middle: write has no end\.$/,
    ],
    [
      'that was deleted with its day',
      (id) => sql`delete from run_steps where run_id = ${id}`,
      /^No step of the run is kept: it did none, or its retention is over\.$/,
    ],
    [
      'of which an answer is not kept any more',
      (id) => sql`
        update run_steps set has_payload = true, result = null
        where run_id = ${id} and kind = 'llm' and path ->> 0 = 'write'`,
      /^What test-model answered at write .* is not kept any more: its retention is over, or it /,
    ],
    [
      'of a run that was stopped',
      (id) => sql`update executions set status = 'stopped', output = null where id = ${id}`,
      /^The run is stopped: only runs that completed or failed can be replayed\.$/,
    ],
    [
      'of a run that a budget ended',
      (id) => sql`
        update executions set status = 'error', output = null,
          error = '{"code":"budget_exceeded","message":"x"}' where id = ${id}`,
      /^The run was ended by the platform \(budget_exceeded\), not by its crew\.$/,
    ],
  ])('cannot be replayed, and it says why: %s', async (_, change, why) => {
    const { version, id } = await record()
    await change(id)
    const { runs, summary } = await replay(version, { kickoffIds: [id] })
    expect(runs).toMatchObject([{ state: 'impossible', reason: expect.stringMatching(why) }])
    expect(summary).toMatchObject({ impossible: 1, equal: 0, different: 0 })
  })

  it('is compared by its digests where the requests are not kept any more', async () => {
    const { version, id } = await record()
    await sql`delete from run_contents`
    expect((await replay(version)).runs).toMatchObject([{ state: 'equal' }])
    const other = await publishVersion({ tasks: [research, { ...write, description: 'Other.' }] })
    const { id: replayId, runs } = await replay(other)
    expect(runs).toMatchObject([
      { state: 'different', step: { path: ['write', 'writer', 'llm', '0'] } },
    ])
    const found = await findReplayedRun(sql, { replayId, runId: id })
    expect(found?.recordedRequest).toBeUndefined()
    expect(JSON.stringify(found?.request)).toContain('Other.')
  })

  it('is that of both runs where one continued the other', async () => {
    const version = await publishVersion()
    model.play(says('Facts.'), refuses(400, 'no'))
    const run = await platform.until(await platform.kickoff(), 'error')
    model.play(says('A summary.'))
    const id = await startRetry(sql, { automation: platform.automation, run })
    await platform.until(id, 'completed')
    const { runs } = await replay(version, { kickoffIds: [id] })
    expect(runs).toMatchObject([{ runId: id, state: 'equal' }])
  })

  it('takes its results with it when the run is deleted', async () => {
    const { version, id } = await record()
    const { id: replayId } = await replay(version)
    await sql`delete from executions where id = ${id}`
    expect(await findReplayedRun(sql, { replayId, runId: id })).toBeUndefined()
    const [left] = await listReplays(sql, platform.automation.id)
    expect(left).toMatchObject({ runs: 1, equal: 0, waiting: 0 })
  })
})

describe('a version', () => {
  it('is kept once it is published, so that its runs can be replayed', async () => {
    const { version, id } = await record()
    await publishVersion({ name: 'Another' })
    const remove = sql`delete from project_versions where number = ${version}`
    await expect(remove).rejects.toThrow(/is published and c/)
    expect((await replay(version, { kickoffIds: [id] })).runs).toMatchObject([{ state: 'equal' }])
  })

  it('that is a draft may be deleted while it is replayed: the replay has a copy', async () => {
    const { id } = await record()
    await platform.stopServices()
    const [project] = await sql<[{ projectId: number; organizationId: number }]>`
      select v.project_id, v.organization_id from project_versions v
      join deployments d on d.project_version_id = v.id where d.id = ${platform.automation.id}`
    const { number } = await createVersion(sql, project, definition)
    const { id: replayId } = await stage.begin(number, { kickoffIds: [id] })
    const [taken] = await takeReplays(sql, 1)
    await deleteDraft(sql, { ...project, number })
    if (!taken) throw new Error('nothing to take')
    await finishReplay(sql, taken, { state: 'equal' })
    const found = await findReplayedRun(sql, { replayId, runId: id })
    expect([taken.definition, found?.state]).toEqual([definition, 'equal'])
    expect(await listReplays(sql, platform.automation.id)).toMatchObject([{ version: number }])
    await expect(stage.begin(number)).rejects.toThrow(`has no version ${number}.`)
  })
})

describe('the lane of replays', () => {
  it('writes nothing that a run writes, and tells no webhook', async () => {
    const { version } = await record()
    const deploymentId = platform.automation.id
    const [{ id }] = await sql<[{ id: string }]>`select gen_random_uuid() as id`
    const hook = { id, deploymentId, url: 'https://hooks.example/', sealedKey: Buffer.alloc(1) }
    await createWebhook(sql, { ...hook, eventTypes: ['*'], format: 'standard' })
    const before = await countRows()
    const { runs } = await replay(version)
    expect(runs).toMatchObject([{ state: 'equal' }])
    expect(await countRows()).toEqual(before)
  })

  it('says that a crew without the ability cannot', async () => {
    const { version } = await record()
    const crew = await startBrokenCrew((response) => begin(response))
    await platform.deployAt(crew.url)
    const { runs } = await replay(version)
    expect(runs).toMatchObject([
      { state: 'impossible', reason: expect.stringContaining('no capability "replay"') },
    ])
    expect(crew.kickoffs()).toBe(0)
    await crew.stop()
  })

  it('gives a run to the next worker when one dies, and hears of the first no more', async () => {
    await platform.stopServices()
    const id = await platform.kickoff()
    await sql`
      update executions set status = 'completed', output = '', finished_at = now()
      where id = ${id}`
    const version = await publishVersion()
    const { id: replayId } = await stage.begin(version)
    const [first] = await takeReplays(sql, 5)
    if (!first) throw new Error('nothing to take')
    expect(await takeReplays(sql, 5)).toEqual([])
    await sql`update replay_runs set lease_expires_at = now() - interval '1 second'`
    const [second] = await takeReplays(sql, 5)
    expect(second).toMatchObject({ replayId, runId: id, attempt: 2 })
    await finishReplay(sql, first, { state: 'equal' })
    await putBackReplay(sql, first)
    const [row] = await listReplays(sql, platform.automation.id)
    expect(row).toMatchObject({ waiting: 1, equal: 0 })
    await deleteReplay(sql, { id: replayId })
    expect(await takeReplays(sql, 5)).toEqual([])
  })
})

describe('a new replay', () => {
  it('is refused for what cannot be replayed', async () => {
    const { version, id } = await record()
    await expect(stage.begin(999)).rejects.toThrow('has no version 999.')
    const own = ownCrewDefinition({ name: 'Own', inputs: [] })
    await sql`
      insert into project_versions (project_id, organization_id, number, definition)
      select project_id, organization_id, 800, ${sql.json(Object(own))} from project_versions
      limit 1`
    await expect(stage.begin(800)).rejects.toThrow('No crew of version 800 is there')
    await expect(stage.begin(version, { ofVersion: 998 })).rejects.toThrow('No run of this')
    const rival = await seedAutomation(sql, { organization: 'Rival', slug: 'rival' })
    const theirs = await kickoff(sql, { deploymentId: rival.id, inputs: {} })
    const kickoffIds = [id, theirs]
    await expect(stage.begin(version, { kickoffIds })).rejects.toThrow(`has no run ${theirs}.`)
    await expect(stage.begin(version, { kickoffIds: [id.toUpperCase()] })).resolves.toMatchObject({
      runs: 1,
    })
  })

  it('waits for others of its organization', async () => {
    const { version } = await record()
    await platform.stopServices()
    for (let count = 0; count < 5; count += 1) await stage.begin(version)
    await expect(stage.begin(version)).rejects.toThrow('has 5 replays in progress')
  })
})
