import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  deleteRemovedAutomation,
  getAutomationLife,
  removeAutomation,
} from '../../../../../services/platform/crews/automation-life.ts'
import { createHold, liftHold } from '../../../../../services/platform/erasures/legal-holds.ts'
import type { HoldFields } from '../../../../../services/platform/erasures/legal-holds.ts'
import {
  createEvaluation,
  EVALUATIONS_MAX,
} from '../../../../../services/platform/evaluations/evaluations.ts'
import { createReplay, REPLAYS_MAX } from '../../../../../services/platform/replays/replays.ts'
import { deleteExpiredRuns } from '../../../../../services/platform/runs/run-retention.ts'
import { kickoff } from '../../../../../services/platform/runs/runs.ts'
import { definition } from '../../../../support/crew.ts'
import { deployAutomation } from '../../../../support/platform.ts'
import { signInAs } from '../../support/every-route.ts'
import { askAs } from '../../support/forms.ts'
import { BASE_URL, openPlatform, readObject } from '../../support/platform.ts'
import type { Platform, Tenant } from '../../support/platform.ts'
import { createRunner, serveApp } from '../../../tasks/resources/support.ts'

let platform: Platform
let ada: ReturnType<typeof askAs>
let server: Awaited<ReturnType<typeof serveApp>>
let token: string
let rivalToken: string

beforeAll(async () => {
  platform = await openPlatform()
  const { app, acme, rival } = platform
  ada = askAs(app, await platform.signIn(acme))
  token = await platform.issueToken(acme)
  rivalToken = await platform.issueToken(rival)
  server = await serveApp(app)
})

afterAll(async () => {
  await server.stop()
  await platform.close()
})

beforeEach(async () => {
  const { sql } = platform
  await sql`delete from legal_holds`
  for (const table of ['case_sets', 'replays', 'executions']) await sql`delete from ${sql(table)}`
})

const apply = createRunner(() => ({ url: server.url, token }))

async function call(method: string, path: string, { as = token, body = {} } = {}) {
  const response = await platform.app.request(`${BASE_URL}/designer/v2${path}`, {
    method,
    headers: { authorization: `Bearer ${as}`, 'content-type': 'application/json' },
    ...(method === 'POST' ? { body: JSON.stringify(body) } : {}),
  })
  return response.status === 204
    ? { status: 204 }
    : { status: response.status, ...(await readObject(response)) }
}

const HELD = {
  status: 409,
  error: 'conflict',
  message: expect.stringMatching(/^A legal hold keeps .*Ask an admin of the organization to lift/),
}

async function hold({ organizationId }: Tenant, fields: Omit<HoldFields, 'name'>) {
  const given = { name: 'Case 1', ...fields }
  return createHold(platform.sql, { organizationId, createdBy: 'Ada' }, given)
}

async function endRun({ research }: Tenant, topic = 'tides'): Promise<string> {
  const { sql } = platform
  const id = await kickoff(sql, { deploymentId: research.id, inputs: { topic } })
  await sql`
    update executions set status = 'completed', output = 'fine', started_at = now(),
      finished_at = now() where id = ${id}`
  return id
}

/** A set with a case of a run and a case by hand, and an evaluation of both that is done. */
async function evaluate(tenant: Tenant, runId: string, name = 'Set') {
  const { sql } = platform
  const { research, organizationId } = tenant
  const [{ setId }] = await sql<[{ setId: string }]>`
    insert into case_sets (organization_id, deployment_id, name, checks, size)
    values (${organizationId}, ${research.id}, ${name}, '[]', 2) returning id as set_id`
  const cases = await sql<{ id: string }[]>`
    insert into cases (set_id, inputs, run_id)
    values (${setId}, '{"topic": "tides"}', ${runId}), (${setId}, '{"topic": "moss"}', null)
    returning id`
  const fields = { set: name, version: 1, against: null, repeat: 1, newest: null }
  const { id } = await createEvaluation(sql, research, { ...fields, createdBy: 'Ada' })
  await finishEvaluation(id)
  const [ofRun = '', byHand = ''] = cases.map((each) => each.id)
  return { setId, ofRun, byHand, evaluationId: id }
}

async function finishEvaluation(id: string): Promise<void> {
  const { sql } = platform
  await sql`
    update evaluation_runs set state = 'passed', finished_at = now(), output = 'Waves.'
    where evaluation_id = ${id}`
  await sql`update evaluations set finished_at = now() where id = ${id}`
}

async function replay({ research }: Tenant, runId: string, isDone = true): Promise<string> {
  const { sql } = platform
  const fields = { version: 1, last: 1, status: 'any', ofVersion: null, createdBy: 'Ada' } as const
  const asked = { mode: 'offline', tokensMax: 0, kickoffIds: [runId] } as const
  const { id } = await createReplay(sql, research, { ...fields, ...asked })
  if (isDone)
    await sql`
      update replay_runs set state = 'different', finished_at = now(), output = 'Ebb and flow.'
      where replay_id = ${id}`
  return id
}

const automationOf = ({ research }: Tenant) => `/automations/${research.automationId}`

describe('what is made of runs under a legal hold', () => {
  it('is refused to the API and the page, and goes once the hold is lifted', async () => {
    const { acme } = platform
    const runId = await endRun(acme)
    const { setId, ofRun, byHand, evaluationId } = await evaluate(acme, runId)
    const replayId = await replay(acme, runId)
    const { id } = await hold(acme, { kind: 'run', value: runId })
    const at = automationOf(acme)
    const all = [
      `/case-sets/${setId}/cases/${ofRun}`,
      `${at}/evaluations/${evaluationId}`,
      `${at}/case-sets/${setId}`,
      `${at}/replays/${replayId}`,
    ]
    for (const path of all) expect(await call('DELETE', path)).toMatchObject(HELD)
    const page = `${at}/case-sets/${setId}`
    const pages = [
      [`${page}/cases/${ofRun}`, 409],
      [page, 422],
      [`${at}/replays/${replayId}`, 422],
    ] as const
    for (const [path, status] of pages) {
      const answer = await ada.post(`${path}/delete`, {})
      expect(answer.status).toBe(status)
      expect(await answer.text()).toContain('Ask an admin of the organization to lift it')
    }
    // Not that of another case of the set, to another organization, or to a viewer.
    expect(await call('DELETE', all[0] ?? '', { as: rivalToken })).toMatchObject({ status: 404 })
    const viewer = askAs(platform.app, await signInAs(platform, 'vera', 'viewer'))
    expect((await viewer.post(`${page}/cases/${ofRun}/delete`, {})).status).toBe(403)
    expect(await call('DELETE', `/case-sets/${setId}/cases/${byHand}`)).toEqual({ status: 204 })
    await liftHold(platform.sql, { id })
    for (const path of all) expect(await call('DELETE', path)).toEqual({ status: 204 })
  })

  it('is kept by the database whichever program deletes, cascades among them', async () => {
    const { sql, acme } = platform
    const runId = await endRun(acme)
    const { setId, evaluationId } = await evaluate(acme, runId)
    await replay(acme, runId)
    await hold(acme, { kind: 'user', value: 'nobody' })
    await hold(acme, { kind: 'automation', value: acme.research.automationId })
    const rows = async () => {
      const tables = ['case_sets', 'cases', 'evaluations', 'evaluation_runs', 'replays']
      const counts = [...tables, 'replay_runs'].map(
        async (table) => (await sql`select from ${sql(table)}`).length,
      )
      return Promise.all(counts)
    }
    const before = await rows()
    for (const table of ['cases', 'case_sets', 'evaluations', 'evaluation_runs', 'replays'])
      await expect(sql`delete from ${sql(table)}`).rejects.toThrow('under a legal hold')
    for (const table of ['replay_runs', 'deployments', 'executions'])
      await expect(sql`delete from ${sql(table)}`).rejects.toThrow('under a legal hold')
    expect(await rows()).toEqual(before)
    // The run of the case is deleted before the hold is made: the case is of the automation.
    await sql`delete from legal_holds`
    await sql`delete from executions`
    await hold(acme, { kind: 'automation', value: acme.research.automationId })
    await expect(sql`delete from case_sets where id = ${setId}`).rejects.toThrow('legal hold')
    await expect(sql`delete from evaluations where id = ${evaluationId}`).rejects.toThrow('hold')
    await expect(removeAutomation(sql, acme.research)).rejects.toThrow('A legal hold keeps cases')
  })

  it('is what has a held text, in a case, a result or an outcome, with its run', async () => {
    const { sql, acme, rival } = platform
    const runId = await endRun(acme)
    const { setId, byHand, ofRun } = await evaluate(acme, runId)
    const cases = `/case-sets/${setId}/cases`
    await hold(rival, { kind: 'text', value: 'moss' })
    await hold(rival, { kind: 'run', value: runId })
    const { id } = await hold(acme, { kind: 'text', value: 'Moss' }).then(async (made) => {
      await sql`update legal_holds set patterns = array['%moss%'] where id = ${made.id}`
      return made
    })
    expect(await call('DELETE', `${cases}/${byHand}`)).toMatchObject(HELD)
    expect(await call('DELETE', `${automationOf(acme)}/case-sets/${setId}`)).toMatchObject(HELD)
    await liftHold(sql, { id })
    // Of another organization's holds nothing is kept.
    expect(await call('DELETE', `${cases}/${byHand}`)).toEqual({ status: 204 })
    await hold(acme, { kind: 'text', value: 'waves.' })
    expect(await call('DELETE', `${cases}/${ofRun}`)).toMatchObject(HELD)

    await replay(acme, runId)
    await hold(acme, { kind: 'text', value: 'ebb and' })
    await sql`update executions set finished_at = now() - interval '200 days'`
    const free = await endRun(acme)
    await sql`
      update executions set finished_at = now() - interval '200 days' where id = ${free}`
    expect(await deleteExpiredRuns(sql, { days: 90 })).toBe(1)
    expect(await sql`select run_id from replay_runs`).toEqual([{ runId }])
  })

  it('stays beside the newest, and what is not done is given up', async () => {
    const { sql, acme } = platform
    const runId = await endRun(acme)
    const { setId, evaluationId } = await evaluate(acme, runId)
    const kept = await replay(acme, runId)
    const free = await replay(acme, await endRun(acme))
    await hold(acme, { kind: 'run', value: runId })
    await sql`update replays set created_at = now() - interval '1 day'`
    await sql`
      update evaluations set created_at = now() - interval '1 day' where id = ${evaluationId}`
    const { organizationId, id: deploymentId, projectVersionId } = acme.research
    await sql`
      insert into replays
        (organization_id, deployment_id, version_id, last, status, kickoff_ids, runs, created_by)
      select ${organizationId}, ${deploymentId}, ${projectVersionId}, 1, 'any', '{}', 1, 'x'
      from generate_series(1, ${REPLAYS_MAX})`
    const open = await replay(acme, runId, false)
    const replays = await sql<{ id: string }[]>`select id from replays`
    expect(replays.map(({ id }) => id)).toEqual(expect.arrayContaining([kept, open]))
    expect(replays.map(({ id }) => id)).not.toContain(free)
    expect(replays).toHaveLength(REPLAYS_MAX)
    expect(await call('DELETE', `${automationOf(acme)}/replays/${open}`)).toEqual({ status: 204 })
    const page = await ada.get(`${automationOf(acme)}/replays`)
    expect(await page.text()).toContain('New replay')

    await sql`
      insert into evaluations (organization_id, deployment_id, set_id, revision, checks, version_id,
        repeat, cases, created_by, finished_at)
      select ${organizationId}, ${deploymentId}, ${setId}, 0, '[]', ${projectVersionId}, 1, 1, 'x',
        now()
      from generate_series(1, ${EVALUATIONS_MAX})`
    const fields = { set: 'Set', version: 1, against: null, repeat: 1, newest: null }
    const { id } = await createEvaluation(sql, acme.research, { ...fields, createdBy: 'Ada' })
    expect(await sql`select from evaluations where id = ${evaluationId}`).toHaveLength(1)
    expect(await sql`select from evaluations`).toHaveLength(EVALUATIONS_MAX + 1)
    const evaluations = await ada.get(`${automationOf(acme)}/evaluations`)
    expect(await evaluations.text()).toContain('New evaluation')
    const done = await call('DELETE', `${automationOf(acme)}/evaluations/${id}`)
    expect(done).toEqual({ status: 204 })
  })

  it('is not deleted with a draft or by apply --prune, which does the rest', async () => {
    const { sql, acme } = platform
    const runId = await endRun(acme)
    await evaluate(acme, runId, 'Held')
    await evaluate(acme, await endRun(acme), 'Free')
    const replayId = await replay(acme, runId)
    const { id } = await hold(acme, { kind: 'run', value: runId })
    const kept = JSON.stringify({
      kind: 'case_set',
      name: 'New',
      parent: 'acme-research',
      spec: { checks: [] },
    })
    const pruned = await apply.apply(kept, '--prune')
    expect(pruned.code).not.toBe(0)
    expect(pruned.problem).toContain('A legal hold keeps a case of this set')
    const names = await sql<{ name: string }[]>`select name from case_sets order by name`
    expect(names.map(({ name }) => name)).toEqual(['Held', 'New'])

    const [{ projectId }] = await sql<[{ projectId: number }]>`
      select project_id from project_versions where id = ${acme.research.projectVersionId}`
    const draft = await call('POST', `/projects/${projectId}/versions`, { body: { definition } })
    await sql`
      update replays set version_id = (
        select id from project_versions where project_id = ${projectId}
          and published_at is null) where id = ${replayId}`
    const path = `/projects/${projectId}/versions/${String(Object(draft).number)}/delete`
    expect((await ada.post(path, {})).status).toBe(409)
    await liftHold(sql, { id })
    expect((await ada.post(path, {})).status).toBe(303)
    expect(await sql`select from replays where id = ${replayId}`).toHaveLength(0)
    expect((await apply.apply(kept, '--prune')).code).toBe(0)
  })

  it('keeps the deletion of its automation waiting, and that of no other', async () => {
    const { sql, acme, rival } = platform
    const { organizationId } = acme
    const deploy = (slug: string, of = organizationId) => deployAutomation(sql, of, { slug })
    const held = await deploy('to-hold')
    const other = await deploy('other', rival.organizationId)
    const runId = await kickoff(sql, { deploymentId: held.id, inputs: {} })
    await removeAutomation(sql, held)
    await removeAutomation(sql, other)
    const { id } = await hold(acme, { kind: 'run', value: runId })
    expect(await deleteRemovedAutomation(sql)).toBe(0)
    expect(await deleteRemovedAutomation(sql)).toBe(1)
    const left = () => sql`select from deployments where id in (${held.id}, ${other.id})`
    expect(await left()).toHaveLength(1)
    expect((await getAutomationLife(sql, held)).removingSince).not.toBeNull()
    await liftHold(sql, { id })
    expect(await deleteRemovedAutomation(sql)).toBe(1)
    expect(await left()).toHaveLength(0)
  })
})
