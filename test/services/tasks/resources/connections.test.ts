import { afterAll, beforeAll, expect, it } from 'vitest'
import { openPlatformWithConnections } from '../../web/support/platform-with-connections.ts'
import type { PlatformWithConnections } from '../../web/support/platform-with-connections.ts'
import { createRunner, serveApp } from './support.ts'

let platform: PlatformWithConnections
let server: Awaited<ReturnType<typeof serveApp>>
let token: string

beforeAll(async () => {
  platform = await openPlatformWithConnections()
  token = await platform.issueToken(platform.acme)
  server = await serveApp(platform.app)
})
afterAll(async () => {
  await server.stop()
  await platform.close()
})

const run = createRunner(() => ({ url: server.url, token }))

const connection = (more: string): string =>
  `kind: connection\nname: keyed\nspec:\n  provider: token\n  kind: static_token\n  ${more}\n`

it('connections are kept in files, with their secrets by reference', async () => {
  const file = connection('header: X-API-Key\n  token: { env: A_SECRET }')
  const planned = await run.apply(file, '--dry-run')
  expect(planned).toMatchObject({ code: 0, problem: '' })
  expect(planned.result).toContain('connection "keyed": create\n')
  expect(await platform.idOf('keyed')).toBe('none')
  expect(await run.apply(file)).toMatchObject({ code: 0, problem: '' })
  // The platform writes the header in its own way, which is no difference.
  expect((await run.apply(file)).result).toContain('1 unchanged')
  const exported = await run.export('--kind', 'connection')
  expect(exported).toContain('# token is never exported: {env: NAME} or {file: PATH}')
  expect((await run.apply(exported)).result).toContain('1 unchanged')
  const narrowed = await run.apply(connection('header: x-api-key\n  hosts: [api.example.com]'))
  expect(narrowed).toMatchObject({ code: 2 })
  expect(narrowed.problem).toContain('token is needed; enter it again after a change')
  const [row] = await platform.sql`select status, hosts from oauth_connections`
  expect(row).toEqual({ status: 'connected', hosts: [] })
  expect((await run.apply(file, '--renew-secrets')).result).toContain('token: set, not shown')
  expect(JSON.stringify([planned, narrowed, exported])).not.toContain('hidden-1')
})

it('a connection that is refused by the OAuth service is so before anything changes', async () => {
  const bad = connection('test_url: https://10.0.0.1/\n  token: { env: A_SECRET }')
  const refused = await run.apply(bad.replace('name: keyed', 'name: other'))
  expect(refused).toMatchObject({ code: 2, result: '' })
  expect(refused.problem).toContain('test_url cannot be called')
  const moved = await run.apply(
    connection('token: { env: A_SECRET }').replace(
      'static_token',
      'client_credentials\n  client_id: x\n  issuer: https://idp.example',
    ),
  )
  expect(moved.code).toBe(2)
})
