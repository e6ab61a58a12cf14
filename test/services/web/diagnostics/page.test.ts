import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createSession } from '../../../../services/platform/people/sessions.ts'
import { ensureUser, grantRole } from '../../../../services/platform/people/users.ts'
import type { Role } from '../../../../services/platform/people/users.ts'
import { COMPONENT_NAMES } from '../../../../services/web/diagnostics/checks/list.ts'
import { serveWeb } from './support/web.ts'
import type { Web, WebOptions } from './support/web.ts'
import { closed, httpServer, json, silent } from './support/faults.ts'
import { LIST, startDependencies } from './support/dependencies.ts'
import type { Dependencies } from './support/dependencies.ts'

const PATH = '/admin/platform_health'
const HOSTILE = `<script>alert(1)</script>"'><img src=x onerror=alert(1)>`

let dependencies: Dependencies
let admin: string
let member: string
const open: { close(): Promise<void> }[] = []

beforeAll(async () => {
  dependencies = await startDependencies()
  admin = await signIn('admin@acme.test', 'platform-admin')
  member = await signIn('member@acme.test')
})

afterEach(async () => {
  dependencies.kubernetes.intercept = () => false
  await Promise.all(open.splice(0).map((each) => each.close()))
})

afterAll(() => dependencies.stop())

async function signIn(email: string, role?: Role): Promise<string> {
  const { sql, organizationId } = dependencies
  const user = { organizationId, role: 'viewer', email, name: 'Ada', passwordHash: null } as const
  const userId = await ensureUser(sql, user)
  if (role) await grantRole(sql, userId, role)
  return `platform_session=${await createSession(sql, userId)}`
}

async function serve(change: Partial<WebOptions> = {}): Promise<Web> {
  const web = await serveWeb(dependencies.options(change))
  open.push(web)
  return web
}

const get = ({ url }: Web, path = PATH, headers: Record<string, string> = {}) =>
  fetch(url + path, { redirect: 'manual', headers: { cookie: admin, ...headers } })

const read = async (response: Response): Promise<string> =>
  (await response.text()).replace(/\s+/g, ' ')

describe('GET /admin/platform_health (SPEC 4.3)', () => {
  it('shows the report with pills, latencies and the Deployments', async () => {
    const response = await get(await serve())
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('text/html; charset=UTF-8')
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'")
    const page = await read(response)
    expect(page).toContain('Everything that is configured works')
    expect(page.match(/class="pill good">OK</g)?.length).toBeGreaterThanOrEqual(
      COMPONENT_NAMES.length,
    )
    expect(page).toMatch(/class="latency"[^>]*>[\d.]+ m?s</)
    expect(page).toContain('acme-internal-registry')
    expect(page).toContain('crew-assistant')
    expect(page).not.toMatch(/<script(?! type="module")/)
    expect(page.trim()).toMatch(/<\/html>$/)
  })

  it('shows what is wrong first, with the code and what to do', async () => {
    const unavailable = await closed()
    const page = await read(await get(await serve({ env: { COLLECTOR_URL: unavailable.url } })))
    expect(page).toContain('The platform works, but not all of it')
    expect(page).toContain('ConnectionFailed: connect ECONNREFUSED')
    expect(page).toContain('collector_unreachable')
    expect(page).toMatch(/What to do<\/strong> Check COLLECTOR_URL/)
    expect(page.indexOf('ECONNREFUSED')).toBeLessThan(page.indexOf('Other components'))
  })

  it('shows a warning beside a component that passes', async () => {
    const failing = await json(503, {})
    open.push({ close: () => failing.stop() })
    const env = { PLATFORM_OAUTH_API_BASE_URL: failing.url }
    const page = await read(await get(await serve({ env })))
    expect(page).toContain('Everything that is configured works')
    expect(page).toContain(`${COMPONENT_NAMES.length} components checked, 1 warning, in`)
    expect(page).toContain(
      'class="remedy warning"><strong>Warning</strong> ' +
        'HTTP 503 from the OAuth service. The OAuth',
    )
  })

  it('sends the frame at once, and each component when it has its result', async () => {
    let release = (): void => {}
    const released = new Promise<void>((resolve) => (release = resolve))
    const last = await httpServer((_, response) => {
      void released.then(() => response.end('{"status":"ok"}'))
    })
    open.push({ close: () => last.stop() })
    const response = await get(await serve({ env: { COLLECTOR_URL: last.url } }))
    const frame = `Checking ${COMPONENT_NAMES.length} components`
    const parts = [frame, 'Database', 'class="probe-report"']
    const shown = new Set<string>()
    let page = ''
    for await (const chunk of response.body ?? []) {
      page += Buffer.from(chunk).toString()
      for (const part of parts) if (page.includes(part)) shown.add(part)
      // The report can be complete only after the page has shown the first component.
      if (shown.has('Database')) release()
    }
    expect([...shown]).toEqual(parts)
    expect(page).not.toContain('TimeoutError')
  })

  it('escapes whatever others say', async () => {
    const liar = await httpServer((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ issuer: HOSTILE, jwks_uri: HOSTILE }))
    })
    open.push({ close: () => liar.stop() })
    dependencies.kubernetes.intercept = (call, response) => {
      const conditions = [
        { type: 'ReplicaFailure', status: 'True', reason: HOSTILE, message: HOSTILE },
      ]
      const item = { metadata: { name: 'acme-web' }, spec: {}, status: { conditions } }
      const isList = call.path === LIST
      response.writeHead(isList ? 200 : 403, { 'content-type': 'application/json' })
      response.end(
        JSON.stringify(isList ? { items: [item] } : { reason: HOSTILE, message: HOSTILE }),
      )
      return true
    }
    await dependencies.sql`update organizations set name = ${HOSTILE} where internal`
    const web = await serve({
      env: { OIDC_ISSUER_URL: liar.url, POD_NAME: HOSTILE, PLATFORM_VERSION: HOSTILE },
    })
    const page = await read(await get(web))
    expect(page).not.toMatch(/<script(?! type="module")|<img src=x/)
    expect(page.match(/&lt;script&gt;/g)?.length).toBeGreaterThanOrEqual(4)
    const download = await get(web, `${PATH}?download=1`)
    expect(download.headers.get('content-disposition')).toMatch(/^attachment; filename="[\w.-]+"$/)
    await dependencies.sql`update organizations set name = 'Platform' where internal`
  })

  it('offers the report as a file, this one and those before', async () => {
    const web = await serve()
    const page = await read(await get(web))
    const [, query = ''] = /href="\?(download=1&amp;run=[0-9a-f-]+)"/.exec(page) ?? []
    const before = dependencies.hits.collector
    const response = await get(web, `${PATH}?${query.replace('&amp;', '&')}`)
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(response.headers.get('content-disposition')).toMatch(
      /^attachment; filename="platform-health-web-1-2\d{3}-[\dTZ-]+\.json"$/,
    )
    const report = (await response.json()) as { components: Record<string, unknown> }
    expect(Object.keys(report.components)).toEqual(COMPONENT_NAMES)
    expect(dependencies.hits.collector).toBe(before)
    await get(web, `${PATH}?download=1&run=unknown`)
    expect(dependencies.hits.collector).toBe(before + 1)
  })

  it('remembers the last runs of this pod', async () => {
    const web = await serve()
    await (await get(web)).text()
    await web.report()
    const page = await read(await get(web))
    expect(page.match(/\?download=1&amp;run=/g)?.length).toBe(4)
  })

  it('runs nothing for a page of another site, and offers to', async () => {
    const web = await serve()
    const before = dependencies.hits.collector
    const offer = await get(web, PATH, { 'sec-fetch-site': 'cross-site' })
    expect(await read(offer)).toContain('Run the checks')
    await get(web, `${PATH}?download=1`, { 'sec-fetch-site': 'cross-site' })
    expect(dependencies.hits.collector).toBe(before)
    await (await get(web, PATH, { 'sec-fetch-site': 'same-origin' })).text()
    expect(dependencies.hits.collector).toBe(before + 1)
    const last = await get(web, PATH, { 'sec-fetch-site': 'cross-site' })
    expect(await read(last)).toContain('Everything that is configured works')
    expect(dependencies.hits.collector).toBe(before + 1)
  })

  it('goes on for the next viewer when one leaves in the middle', async () => {
    const server = await silent()
    open.push({ close: () => server.stop() })
    const { limits } = server
    const web = await serve({ env: { COLLECTOR_URL: server.url }, diagnostics: { limits } })
    const leaver = new AbortController()
    const response = await fetch(web.url + PATH, {
      headers: { cookie: admin },
      signal: leaver.signal,
    })
    expect(response.status).toBe(200)
    leaver.abort()
    const page = await read(await get(web))
    expect(page).toContain('collector_unreachable')
    expect(web.lines.filter((line) => line.includes('"diagnosis"'))).toHaveLength(1)
    expect(web.lines.join('')).not.toContain('"level":"error"')
  })

  it.each([
    ['without PLATFORM_SELF_HOSTED', { PLATFORM_SELF_HOSTED: 'false' }],
    ['on a serverless container service', { PLATFORM_PROVIDER: 'serverless' }],
    ['for local development', { PLATFORM_PROVIDER: 'local' }],
  ])('leads to the dashboard, which says why, %s', async (_, env) => {
    const web = await serve({ env })
    const before = dependencies.hits.collector
    const response = await get(web)
    expect(response.status).toBe(303)
    const location = response.headers.get('location') ?? ''
    const dashboard = await read(await get(web, location))
    expect(dashboard).toContain('The health report exists on Kubernetes only')
    expect(dashboard).toContain('class="notice waiting"')
    expect(dashboard).not.toContain('class="notice good"')
    expect((await get(web, PATH, { cookie: member })).status).toBe(404)
    expect(dependencies.hits.collector).toBe(before)
  })

  it('is in the navigation of administrators only', async () => {
    const web = await serve()
    expect(await read(await get(web, '/'))).toContain(PATH)
    expect(await read(await get(web, '/', { cookie: member }))).not.toContain(PATH)
  })
})
