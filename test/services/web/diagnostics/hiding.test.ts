import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSession } from '../../../../services/platform/people/sessions.ts'
import { ensureUser, grantRole } from '../../../../services/platform/people/users.ts'
import type { EnvSource } from '../../../../services/shared/env.ts'
import { few } from '../../../support/long.ts'
import { exchange, requestLines, statusOf, withoutDate } from '../../../support/raw-http.ts'
import { serveWeb, TOKEN } from './support/web.ts'
import type { Web } from './support/web.ts'
import { startDependencies } from './support/dependencies.ts'
import type { Dependencies } from './support/dependencies.ts'

const METHODS = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'DELETE', 'PATCH', 'TRACE']
const HEADER = `X-Platform-Debug-Token: ${TOKEN}`

/** Served alike: a rule for one path in front of the platform cannot be the protection. */
const SAME_PATHS = [
  '/health/debug',
  '/health/debug?x=1',
  '/health/%64ebug',
  '/health/./debug',
  '/x/../health/debug',
  'http://evil.test/health/debug',
]
const OTHER_PATHS = ['/health/debug/', '//health/debug', '/HEALTH/debug', '/health/debug%00']
const HIDDEN_PATHS = [
  '/admin/platform_health',
  '/admin/platform_health?download=1',
  '/admin/feature-flags',
  '/admin/feature-flags/k8s_namespace_isolation',
  '/designer/v2/admin/users',
  '/admin/x',
]

let dependencies: Dependencies
let web: Web
let admin: string
let member: string

beforeAll(async () => {
  dependencies = await startDependencies()
  web = await serveWeb(dependencies.options())
  admin = await signIn('admin@acme.test', 'platform-admin')
  member = await signIn('member@acme.test')
})

afterAll(async () => {
  await web.close()
  await dependencies.stop()
})

async function signIn(email: string, role?: 'platform-admin'): Promise<string> {
  const { sql, organizationId } = dependencies
  const user = { organizationId, role: 'viewer', email, name: 'Ada', passwordHash: null } as const
  const userId = await ensureUser(sql, user)
  if (role) await grantRole(sql, userId, role)
  return `Cookie: platform_session=${await createSession(sql, userId)}`
}

const ask = (line: string, ...headers: string[]) =>
  exchange(web.url, requestLines(line, ...headers))

/**
 * The status of the report for these headers; a refusal must be what an address without anything
 * answers.
 */
async function verdictFor(headers: readonly string[], path = '/health/debug', url = web.url) {
  const [answer, nothing] = await Promise.all([
    exchange(url, requestLines(`GET ${path}`, ...headers)),
    exchange(url, requestLines('GET /nothing', ...headers)),
  ])
  if (statusOf(answer) !== '200') expect(withoutDate(answer)).toBe(withoutDate(nothing))
  return statusOf(answer)
}

const CREDENTIALS: readonly (readonly [string, () => readonly string[]])[] = [
  ['nothing', () => []],
  ['a wrong token', () => [`X-Platform-Debug-Token: ${'x'.repeat(TOKEN.length)}`]],
  ['an empty token', () => ['X-Platform-Debug-Token:']],
  ['the token and one character', () => [`${HEADER}x`]],
  ['the token without its end', () => [HEADER.slice(0, -1)]],
  ['the token twice', () => [HEADER, HEADER]],
  ['the token and another', () => [HEADER, 'x-platform-debug-token: x']],
  ['a token of 8 KB', () => [`X-Platform-Debug-Token: ${TOKEN}${'x'.repeat(8192)}`]],
  ['a token in another encoding', () => [`X-Platform-Debug-Token: ${TOKEN}\u00e9`]],
  ['the token as a bearer token', () => [`Authorization: Bearer ${TOKEN}`]],
  ['a session that is none', () => ['Cookie: platform_session=x']],
  ['the session of a member', () => [member]],
]

describe('who is not authorized learns nothing (SPEC 4.1, 5.1)', () => {
  it.each(METHODS)('%s: the same bytes at every path, whatever is shown', async (method) => {
    // What another method makes of credentials does not depend on which are wrong.
    const tried = method === 'GET' ? CREDENTIALS : few(CREDENTIALS, 2)
    for (const [, headersOf] of tried) {
      const headers = headersOf()
      const nothing = withoutDate(await ask(`${method} /nothing`, ...headers))
      expect(statusOf(nothing)).toBe('404')
      const paths = [...SAME_PATHS, ...OTHER_PATHS, ...HIDDEN_PATHS]
      const answers = await Promise.all(paths.map((path) => ask(`${method} ${path}`, ...headers)))
      for (const answer of answers) expect(withoutDate(answer)).toBe(nothing)
    }
  })

  it('the same bytes for all of them', async () => {
    const answers = await Promise.all(
      CREDENTIALS.map(([, headers]) => ask('GET /health/debug', ...headers())),
    )
    expect(new Set(answers.map(withoutDate)).size).toBe(1)
  })

  it('a header too large is refused before any path is looked at', async () => {
    const headers = [`X-Platform-Debug-Token: ${'x'.repeat(20_480)}`]
    const [here, nowhere] = await Promise.all([
      ask('GET /health/debug', ...headers),
      ask('GET /nothing', ...headers),
    ])
    expect(statusOf(here)).toBe('431')
    expect(here).toBe(nowhere)
  })

  it('starts nothing, and leaves no token in the log', async () => {
    const before = { ...dependencies.hits }
    web.lines.length = 0
    const wrong = 'a-wrong-token-that-must-not-be-logged-0123456789'
    await Promise.all(
      Array.from({ length: 200 }, () =>
        ask('GET /health/debug', `X-Platform-Debug-Token: ${wrong}`),
      ),
    )
    expect(dependencies.hits).toEqual(before)
    expect(web.lines.length).toBeGreaterThanOrEqual(200)
    expect(web.lines.join('')).not.toContain(wrong)
  })
})

describe('who is authorized', () => {
  it.each(SAME_PATHS)('reaches the report at %s', async (path) => {
    expect(await verdictFor([HEADER], path)).toBe('200')
    expect(await verdictFor([admin], path)).toBe('200')
  })

  it.each(OTHER_PATHS)('finds nothing at %s', async (path) => {
    expect(await verdictFor([HEADER], path)).toBe('404')
  })

  it.each(METHODS.slice(2))('finds nothing with %s', async (method) => {
    const override = 'X-HTTP-Method-Override: GET'
    const [answer, nothing] = await Promise.all([
      ask(`${method} /health/debug`, HEADER, override),
      ask(`${method} /nothing`, HEADER, override),
    ])
    expect(withoutDate(answer)).toBe(withoutDate(nothing))
  })

  it('may have white space around the token, and a session that is none beside it', async () => {
    expect(await verdictFor([`X-Platform-Debug-Token: \t ${TOKEN} `])).toBe('200')
    expect(await verdictFor([HEADER, member])).toBe('200')
    expect(await verdictFor(['X-Platform-Debug-Token: x', admin])).toBe('200')
  })

  it('is heard from the same site only, for a session goes where the browser goes', async () => {
    for (const site of ['same-origin', 'none']) {
      expect(await verdictFor([admin, `Sec-Fetch-Site: ${site}`])).toBe('200')
    }
    for (const site of ['cross-site', 'same-site', 'x', 'none, cross-site']) {
      expect(await verdictFor([admin, `Sec-Fetch-Site: ${site}`])).toBe('404')
    }
  })

  it('is a session that lives, of a user who has the role now', async () => {
    const email = 'passing@acme.test'
    const cookie = await signIn(email, 'platform-admin')
    expect(await verdictFor([cookie])).toBe('200')
    const user = dependencies.sql`(select id from users where email = ${email})`
    await dependencies.sql`delete from user_roles where user_id = ${user}`
    expect(await verdictFor([cookie])).toBe('404')
    expect(await verdictFor([cookie], '/admin/platform_health')).toBe('404')
    await dependencies.sql`
      insert into user_roles (user_id, role) values (${user}, 'platform-admin')`
    expect(await verdictFor([cookie])).toBe('200')
    await dependencies.sql`
      update sessions set last_seen_at = now() - interval '3 hours' where user_id = ${user}`
    expect(await verdictFor([cookie])).toBe('404')
    await dependencies.sql`
      update sessions set last_seen_at = now(), expires_at = now() - interval '1 second'
      where user_id = ${user}`
    expect(await verdictFor([cookie])).toBe('404')
  })

  it.each([
    ['without PLATFORM_SELF_HOSTED', { PLATFORM_SELF_HOSTED: undefined }],
    ['with PLATFORM_SELF_HOSTED=false', { PLATFORM_SELF_HOSTED: 'false' }],
    ['on a serverless container service', { PLATFORM_PROVIDER: 'serverless' }],
    ['for local development', { PLATFORM_PROVIDER: 'local' }],
  ])('finds nothing %s', async (_, env) => {
    await elsewhere(env, async (url) => {
      expect(await verdictFor([HEADER], '/health/debug', url)).toBe('404')
      expect(await verdictFor([admin], '/health/debug', url)).toBe('404')
    })
  })

  it('reaches it on a managed Kubernetes service', async () => {
    await elsewhere({ PLATFORM_PROVIDER: 'managed_kubernetes' }, async (url) => {
      expect(await verdictFor([HEADER], '/health/debug', url)).toBe('200')
    })
  })

  it.each([
    ['is not set', undefined],
    ['is empty', ''],
  ])('is nobody by token where the token %s', async (_, PLATFORM_DEBUG_TOKEN) => {
    await elsewhere({ PLATFORM_DEBUG_TOKEN }, async (url) => {
      const given = `X-Platform-Debug-Token: ${PLATFORM_DEBUG_TOKEN ?? ''}`
      expect(await verdictFor([given], '/health/debug', url)).toBe('404')
      expect(await verdictFor([], '/health/debug', url)).toBe('404')
      expect(await verdictFor([admin], '/health/debug', url)).toBe('200')
    })
  })

  it.each(['x', 'x'.repeat(31)])('holds a token of any length: "%s"', async (token) => {
    await elsewhere({ PLATFORM_DEBUG_TOKEN: token }, async (url) => {
      const ask = (given: string) =>
        verdictFor([`X-Platform-Debug-Token: ${given}`], '/health/debug', url)
      expect(await ask(token)).toBe('200')
      expect(await ask(`${token}x`)).toBe('404')
      expect(await ask('')).toBe('404')
    })
  })

  it('by token needs no database to be heard, and by session is unknown without one', async () => {
    const env = { AUTH_PROVIDER: 'local' }
    const unavailable = await serveWeb({
      ...dependencies.options({ env }),
      databaseUrl: 'postgres://x@127.0.0.1:9/x',
    })
    expect((await unavailable.report()).http).toBe(503)
    expect(await verdictFor([admin], '/health/debug', unavailable.url)).toBe('404')
    expect(await verdictFor([admin], '/admin/platform_health', unavailable.url)).toBe('404')
    await unavailable.close()
  })
})

async function elsewhere(env: EnvSource, use: (url: string) => Promise<void>): Promise<void> {
  const other = await serveWeb(dependencies.options({ env }))
  await use(other.url)
  await other.close()
}
