import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { issueStaticToken } from '../../../../../services/platform/automations/static-tokens.ts'
import type { TokenScope } from '../../../../../services/platform/automations/token-limits.ts'
import { setManaged } from '../../../../../services/platform/managed-resources.ts'
import { signInAs } from '../../support/every-route.ts'
import { BASE_URL, openPlatform, readObject } from '../../support/platform.ts'
import type { Platform, Tenant } from '../../support/platform.ts'

let platform: Platform

beforeAll(async () => {
  platform = await openPlatform()
})
afterAll(() => platform.close())
beforeEach(() => platform.sql`delete from managed_resources`)

const tokenOf = (tenant: Tenant, ...scopes: readonly TokenScope[]): Promise<string> =>
  issueStaticToken(platform.sql, {
    organizationId: tenant.organizationId,
    deploymentId: null,
    name: 'CI',
    createdBy: null,
    scopes,
  })

interface Put {
  readonly token: string
  readonly name?: string
  readonly resources?: unknown
}

const put = async ({ token, name = 'ci', resources = [] }: Put): Promise<Response> =>
  platform.app.request(`/designer/v2/managed/${encodeURIComponent(name)}`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ resources }),
  })

const WEBHOOK = { kind: 'webhook', id: '0b0b0b0b-0000-4000-8000-000000000001' }
const MODEL = { kind: 'llm_connection', id: '7' }

describe('the marks of what files keep', () => {
  it('are those of the last call by a name, recorded once where they change', async () => {
    const token = await tokenOf(platform.acme, 'settings')
    const first = await put({ token, resources: [WEBHOOK, MODEL, MODEL] })
    expect(await readObject(first)).toEqual({ managed_by: 'ci', begun: 2, ended: 0 })
    const entries = (await platform.audit()).length
    const again = await put({ token, resources: [MODEL, WEBHOOK] })
    expect(await readObject(again)).toEqual({ managed_by: 'ci', begun: 0, ended: 0 })
    expect(await platform.audit()).toHaveLength(entries)
    const other = await put({ token, name: 'github.com/acme/crews', resources: [MODEL] })
    expect(await readObject(other)).toMatchObject({ begun: 1, ended: 0 })
    expect(await readObject(await put({ token }))).toMatchObject({ begun: 0, ended: 1 })
  })

  it('are of one organization, whatever the ids are', async () => {
    const { sql, acme, rival } = platform
    const connection = async (tenant: Tenant): Promise<string> => {
      const [row] = await sql<{ id: number }[]>`
        insert into llm_connections (organization_id, name, provider, model)
        values (${tenant.organizationId}, 'Gateway', 'openai', 'm') returning id`
      return String(row?.id)
    }
    const theirs = await connection(rival)
    await put({
      token: await tokenOf(acme, 'settings'),
      resources: [{ kind: 'llm_connection', id: theirs }],
    })
    const read = await platform.app.request(`/designer/v2/llm-connections/${theirs}`, {
      headers: { authorization: `Bearer ${await tokenOf(rival, 'read')}` },
    })
    expect(await readObject(read)).toMatchObject({ name: 'Gateway', managed_by: null })
  })

  it('need the scope settings, or the role admin', async () => {
    const { acme, app } = platform
    const weak = await put({ token: await tokenOf(acme, 'design', 'read', 'upload', 'kickoff') })
    expect(weak.status).toBe(403)
    const as = async (role: 'editor' | 'admin') => {
      const { cookie, csrfToken } = await signInAs(platform, role, role)
      const answer = await app.request('/designer/v2/managed/ci', {
        method: 'PUT',
        headers: {
          cookie,
          origin: BASE_URL,
          'x-csrf-token': csrfToken,
          'content-type': 'application/json',
        },
        body: JSON.stringify({ resources: [MODEL] }),
      })
      return answer.status
    }
    expect([await as('editor'), await as('admin')]).toEqual([403, 200])
  })

  it('come with a list of automations for tokens that set, and with nothing else', async () => {
    const headers = { authorization: `Bearer ${await tokenOf(platform.acme, 'settings')}` }
    const { automationId } = platform.acme.research
    const statuses = ['automations', `automations/${automationId}`, 'projects', 'executions'].map(
      async (path) => (await platform.app.request(`/designer/v2/${path}`, { headers })).status,
    )
    expect(await Promise.all(statuses)).toEqual([200, 403, 403, 403])
  })

  it.each<[string, Partial<Put>, string]>([
    ['a name with blanks', { name: 'a b' }, 'managed_by must be 1 to 100 letters'],
    ['a name that is markup', { name: '<b>x</b>' }, 'managed_by must be'],
    ['a long name', { name: 'a'.repeat(101) }, 'managed_by must be'],
    ['no kind', { resources: [{ id: '1' }] }, 'resources.0.kind is required'],
    ['a kind that is a path', { resources: [{ kind: '../x', id: '1' }] }, 'kind is not a kind'],
    ['an id with a quote', { resources: [{ kind: 'webhook', id: "1'" }] }, 'id is not an id'],
    ['a number as an id', { resources: [{ kind: 'webhook', id: 1 }] }, 'id must be a text'],
    ['a map', { resources: {} }, 'resources must be a list'],
    [
      'more than 10,000',
      { resources: Array.from({ length: 10_001 }, () => MODEL) },
      'resources must have at most 10000 resources',
    ],
  ])('are refused with %s', async (_, given, problem) => {
    const refused = await put({ token: await tokenOf(platform.acme, 'settings'), ...given })
    expect(refused.status).toBe(422)
    expect((await readObject(refused))['detail']).toContain(problem)
    expect(await platform.sql`select from managed_resources`).toHaveLength(0)
  })

  it('are at most 50,000 in an organization, and none is made beyond', async () => {
    const { sql, acme } = platform
    const { organizationId } = acme
    await sql`
      insert into managed_resources (organization_id, kind, resource_id, managed_by)
      select ${organizationId}, 'webhook', 'w' || number, 'former'
      from generate_series(1, 50000) number`
    const mark = sql.begin((tx) =>
      setManaged(tx, { organizationId, managedBy: 'ci', rows: [MODEL] }),
    )
    await expect(mark).rejects.toThrow(/at most 50000 managed resources; these would make it 50001/)
    expect(await sql`select from managed_resources where managed_by = 'ci'`).toHaveLength(0)
  })
})
