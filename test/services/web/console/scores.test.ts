import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { issueStaticToken } from '../../../../services/platform/automations/static-tokens.ts'
import type { TokenScope } from '../../../../services/platform/automations/token-limits.ts'
import { askAs } from '../support/forms.ts'
import { BASE_URL, openPlatform, readObject } from '../support/platform.ts'
import type { Platform, Tenant } from '../support/platform.ts'

let platform: Platform
let ada: ReturnType<typeof askAs>
let path: string
const tokens = { design: '', read: '', rival: '' }
const HOSTILE = '<script>alert(1)</script>'

beforeAll(async () => {
  platform = await openPlatform()
  const { acme, rival } = platform
  ada = askAs(platform.app, await platform.signIn(acme))
  path = `/automations/${acme.research.automationId}`
  tokens.design = await tokenFor(acme, 'design')
  tokens.read = await tokenFor(acme, 'read')
  tokens.rival = await tokenFor(rival, 'design')
})

afterAll(() => platform.close())

const tokenFor = ({ organizationId, userId }: Tenant, scope: TokenScope) =>
  issueStaticToken(platform.sql, {
    organizationId,
    deploymentId: null,
    name: `for ${scope} of ${organizationId}`,
    scopes: [scope],
    createdBy: userId,
  })

async function call(at: string, as: keyof typeof tokens = 'read', body?: object) {
  const response = await platform.app.request(`${BASE_URL}/designer/v2${at}`, {
    method: body ? 'PUT' : 'GET',
    headers: { authorization: `Bearer ${tokens[as]}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: await readObject(response) }
}

const rulePath = () => `${path}/score-rules/${platform.acme.research.automationId}`

/** A run with what the checks found of it. */
async function insertScored(fields: object): Promise<string> {
  const { sql, acme } = platform
  const [{ id }] = await sql<[{ id: string }]>`
    insert into executions (deployment_id, inputs, status, output, finished_at)
    values (${acme.research.id}, '{}', 'completed', 'Out.', now()) returning id`
  const row = { runId: id, deploymentId: acme.research.id, organizationId: acme.organizationId }
  await sql`insert into run_scores ${sql({ ...row, scoredAt: new Date(), ...fields })}`
  return id
}

describe('the scores of an automation', () => {
  it('are on the page of each run, by day on that of the automation, and in the API', async () => {
    const judge = { type: 'judge', state: 'failed', reason: HOSTILE, tokens: 15, usd: 0.5 }
    const findings = platform.sql.json([judge])
    const reason = `judge: ${HOSTILE}`
    const failed = { state: 'failed', reason, findings, tokens: 15, usd: '0.5' }
    const bad = await insertScored(failed)
    await insertScored({ state: 'passed' })
    await insertScored({ state: 'queued', scoredAt: null })
    const [ofRun, ofAll] = await Promise.all(
      [`${path}/executions/${bad}`, path].map(async (at) => (await ada.get(at)).text()),
    )
    expect(ofRun).toContain('Judges took 15 tokens, 0.5 USD.')
    expect(ofRun).toContain('&lt;script&gt;alert(1)')
    expect(ofRun).not.toContain('<script>alert')
    expect(ofAll).toContain('1 of 2 scored runs passed (50 %)')
    const day = new Date().toISOString().slice(0, 10)
    expect((await call(`${path}/scores`)).body).toEqual({
      days: [{ day, passed: 1, failed: 1, errors: 0, usd: 0.5 }],
    })
    expect((await call(`${path}/scores/${bad}`)).body).toMatchObject({
      state: 'failed',
      findings: [judge],
      tokens: 15,
      usd: 0.5,
    })
  })

  it.each<[object, string]>([
    [{ scored_share: 10 }, 'enter one'],
    [{ scored_share: 101 }, '0 to 100'],
    [{ checks: [{ type: 'equal' }] }, '"equal" needs an expected output'],
    [{ checks: [{ type: 'contains' }] }, '"contains" needs an expected output'],
    [{ checks: [{ type: 'person' }] }, 'people rate runs by reviewed_share'],
    [{ checks: [{ type: HOSTILE }] }, 'must be one of equal'],
    [{ checks: [{ type: 'pattern', pattern: '(' }] }, 'regular expression'],
  ])('are refused by a rule with %j', async (fields, problem) => {
    const { status, body } = await call(rulePath(), 'design', { reviewed_share: 0, ...fields })
    expect([status, body['message']]).toEqual([422, expect.stringContaining(problem)])
  })

  it('take no judge where the crew is a program of its own', async () => {
    const { sql, acme } = platform
    const rule = {
      reviewed_share: 0,
      scored_share: 10,
      checks: [{ type: 'judge', model: 'm', rubric: 'Be kind.' }],
    }
    expect((await call(rulePath(), 'design', rule)).status).toBe(200)
    const at = `/automations/${acme.digest.automationId}/score-rules/${acme.digest.automationId}`
    await sql`alter table project_versions disable trigger user`
    await sql`
      update project_versions set definition = jsonb_set(definition, '{agents}', '[]')
        || '{"tasks": []}' where id = ${acme.digest.projectVersionId}`
    await sql`alter table project_versions enable trigger user`
    expect((await call(at, 'design', rule)).body['message']).toContain('a program of its own')
  })

  it('belong to their organization, and readers set no rule', async () => {
    const id = await insertScored({ state: 'passed' })
    for (const at of [`${path}/scores`, `${path}/scores/${id}`, rulePath()]) {
      expect([at, (await call(at, 'rival')).status]).toEqual([at, 404])
      expect([at, (await call(at)).status]).toEqual([at, 200])
    }
    const rivals = `/automations/${platform.rival.research.automationId}/scores/${id}`
    expect((await call(rivals, 'rival')).status).toBe(404)
    expect((await call(`${path}/scores/${HOSTILE}`)).status).toBe(404)
    expect((await call(rulePath(), 'read', { reviewed_share: 1 })).status).toBe(403)
    expect((await call(rulePath(), 'rival', { reviewed_share: 1 })).status).toBe(404)
  })
})
