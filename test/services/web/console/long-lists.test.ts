import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openPlatform } from '../support/platform.ts'
import type { SignedInUser, Platform } from '../support/platform.ts'

const ROWS = 503
let platform: Platform
let ada: SignedInUser

beforeAll(async () => {
  platform = await openPlatform()
  ada = await platform.signIn(platform.acme)
  const { sql, acme } = platform
  const { organizationId, research } = acme
  await sql`
    insert into deployments (organization_id, project_version_id, name, slug, app_id)
    select ${organizationId}, ${research.projectVersionId}, 'Robot ' || lpad(n::text, 4, '0'),
      'robot-' || n, 'robot-' || n from generate_series(1, ${ROWS - 2}) n`
  await sql`
    insert into llm_connections (organization_id, name, provider, model)
    select ${organizationId}, 'Line ' || n, 'openai', 'model-' || n
    from generate_series(1, ${ROWS}) n`
  await sql`
    insert into static_tokens (organization_id, name, token_hash, last_four)
    select ${organizationId}, 'System ' || n, sha256(n::text::bytea), 'abcd'
    from generate_series(1, ${ROWS}) n`
  await sql`
    insert into executions (deployment_id, inputs, queued_at)
    select ${research.id}, '{}', now() - make_interval(secs => n)
    from generate_series(1, ${ROWS}) n`
  await sql`
    update executions
    set status = 'error', error = '{"code":"x","message":"y"}', finished_at = now()
    where id in (select id from executions order by queued_at limit 3)`
  await sql`
    insert into client_sightings (deployment_id, client_id)
    select id, 'client-of-' || slug from deployments where organization_id = ${organizationId}`
})

afterAll(() => platform.close())

async function read(path: string): Promise<string> {
  const response = await platform.app.request(path, { headers: { cookie: ada.cookie } })
  expect(response.status).toBe(200)
  return (await response.text()).replace(/\s+/g, ' ')
}

const pageOf = (): string => `/automations/${platform.acme.research.automationId}`
const unescape = (text: string): string => text.replaceAll('&amp;', '&')

/** Every address that the rows of a list lead to, from the first page to the last. */
async function walk(first: string, row: RegExp): Promise<{ rows: Set<string>; pages: number }> {
  const rows = new Set<string>()
  let path: string | undefined = first
  let pages = 0
  for (; path !== undefined && pages < 20; pages += 1) {
    const page = await read(path)
    for (const [, address = ''] of page.matchAll(row)) rows.add(address)
    const next: string | undefined = /rel="next" href="([^"]+)"/.exec(page)?.[1]
    path = next && unescape(next)
  }
  return { rows, pages }
}

const LISTS: [string, () => string, RegExp][] = [
  ['automations', () => '/automations', /<a href="(\/automations\/[^"?]+)">/g],
  ['LLM connections', () => '/llm-connections', /<a href="(\/llm-connections\/\d+)">/g],
  ['static tokens', () => `${pageOf()}/static-tokens`, /<a href="([^"]+\/static-tokens\/\d+)">/g],
  ['runs', () => '/executions', /href="(\/automations\/[^"]+\/executions\/[^"?]+)"/g],
  ['runs of an automation', () => `${pageOf()}/executions`, /href="([^"]+\/executions\/[^"?]+)"/g],
  ['OAuth clients', () => '/oauth-clients', /<a href="(\/oauth-clients\/[^"?]+)">/g],
]

describe('a list of 503 rows', () => {
  it.each(LISTS)('of %s is reached row by row, 50 on a page', async (_, path, row) => {
    expect(await read(path())).toContain('503 ')
    const { rows, pages } = await walk(path(), row)
    expect(rows.size).toBe(ROWS)
    expect(pages).toBe(11)
  })

  it('leads back to the page before', async () => {
    const second = unescape(/rel="next" href="([^"]+)"/.exec(await read('/automations'))?.[1] ?? '')
    const back = unescape(/rel="prev" href="([^"]+)"/.exec(await read(second))?.[1] ?? '')
    const first = await read(back)
    expect(first).toContain('>Robot 0001</a>')
    expect(first).not.toContain('rel="prev"')
  })

  it('shows its total where only its first rows are shown', async () => {
    const dashboard = await read('/')
    expect(dashboard).toContain('<dd>2 <small>of 503</small></dd>')
    expect(dashboard).toContain('<a href="/automations">View all 503</a>')
    expect(dashboard).toContain('<a href="/executions">View all 503</a>')
    const automation = await read(pageOf())
    expect(automation).toContain(`<a href="${pageOf()}/executions">View all 503</a>`)
  })
})

describe('a search', () => {
  it.each([
    ['/automations', 'robot-0501', 0],
    ['/automations', 'ROBOT 05', 2],
    ['/automations', 'acme', 2],
    ['/llm-connections', 'model-50', 5],
    ['/oauth-clients', 'robot 001', 10],
  ])('on %s for “%s” finds %i', async (path, text, found) => {
    const page = await read(`${path}?q=${encodeURIComponent(text)}`)
    expect(page).toMatch(new RegExp(`>?\\b${found} [\\w ]+s? match(es)? “${text}”`))
    expect(page).toContain(`value="${text}"`)
    if (found === 0) expect(page).toMatch(/Nothing matches “.*?”\. <a href="[^"?]+">Show all/)
  })

  it('stays on the next page', async () => {
    const page = await read('/automations?q=robot')
    expect(page).toMatch(/rel="next" href="\/automations\?q=robot&amp;after=[0-9a-f-]{36}"/)
  })

  it('treats every parameter of the address as text', async () => {
    const odd = ['%01', '%25', '<script>', `${'x'.repeat(3000)}`, '%F0%9F%9A%80', "'"]
    const paths = LISTS.map(([, path]) => path())
    for (const path of paths) {
      for (const text of odd) {
        const page = await read(`${path}?q=${text}&after=${text}&before=${text}&status=${text}`)
        expect(page).not.toContain('<script>')
      }
    }
  })
})

describe('the list of runs', () => {
  it('counts each status and shows one of them', async () => {
    const all = await read('/executions')
    expect(all).toContain('>Failed <span class="quiet">3</span>')
    expect(all).toContain('>Queued <span class="quiet">500</span>')
    const failed = await read('/executions?status=error')
    expect(failed.match(/class="pill bad"/g)).toHaveLength(3)
    expect(failed).toContain('3 runs of acme')
  })

  it('leads on with the status', async () => {
    const queued = await read(`${pageOf()}/executions?status=queued`)
    expect(queued).toContain(`${pageOf()}/executions?status=queued&amp;after=`)
    const stopped = await read('/executions?status=stopped')
    expect(stopped).toContain('No runs found')
  })

  it('is of the own organization and its automations only', async () => {
    const theirs = platform.rival.research.automationId
    const response = await platform.app.request(`/automations/${theirs}/executions`, {
      headers: { cookie: ada.cookie },
    })
    expect(response.status).toBe(404)
    const rival = await platform.signIn(platform.rival)
    const page = await platform.app.request('/executions', { headers: { cookie: rival.cookie } })
    expect(await page.text()).toContain('No runs yet')
  })
})

describe('the OAuth settings of many automations', () => {
  it('ask for the id where a list to choose from would be cut', async () => {
    const { csrfToken, cookie } = ada
    const at = `/oauth-settings/${platform.acme.organizationId}`
    const post = (path: string, fields: Record<string, string>) =>
      platform.app.request(at + path, {
        method: 'POST',
        body: new URLSearchParams({ csrf_token: csrfToken, ...fields }),
        headers: { cookie },
      })
    await platform.sql`
      insert into automation_oauth (organization_id, enabled, issuer, audiences,
        absent_audience_allowed, scope, scope_claim, algorithms, skew_seconds, lifetime_seconds_max,
        static_tokens_allowed)
      values (${platform.acme.organizationId}, true, 'https://idp.test', '{a}', false, 's', 'scope',
        '{RS256}', 30, 3600, true)`
    const page = await read(at)
    expect(page).toMatch(/Automation ID <input class="mono" name="automation_id"/)
    const last = await platform.sql<[{ automationId: string }]>`
      select automation_id from deployments where slug = 'robot-501'`
    const explain = (automationId: string) =>
      post('/explain', { automation_id: automationId, token: 'a.b.c' })
    expect((await explain(last[0].automationId)).status).toBe(200)
    expect((await explain(platform.rival.research.automationId)).status).toBe(422)
    expect((await explain('nonsense')).status).toBe(422)
  })
})
