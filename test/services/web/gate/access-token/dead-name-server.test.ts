import dns from 'node:dns'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startNameServer } from '../../../../support/name-server.ts'
import type { NameServer } from '../../../../support/name-server.ts'
import {
  bind,
  CLIENT,
  configure,
  openPlatformWithOauth,
  newCaller,
  settingsFor,
} from '../../support/platform-with-oauth.ts'
import type { PlatformWithOauth } from '../../support/platform-with-oauth.ts'

/**
 * More than libuv has threads for names, and more than one organization may have look-ups at a
 * time.
 */
const TESTS = 40
const usual = dns.getServers()
let oauth: PlatformWithOauth
let server: NameServer

beforeAll(async () => {
  server = await startNameServer((name) =>
    name.endsWith('.dead.test') ? 'swallow' : ['127.0.0.1'],
  )
  oauth = await openPlatformWithOauth()
  dns.setServers([server.address])
})

afterAll(async () => {
  dns.setServers(usual)
  await oauth.close()
  await server.close()
})

it('a name server that swallows the queries of one organization holds up no other', async () => {
  const ada = await oauth.signIn(oauth.acme)
  const issuer = oauth.idp.issuer.replace('127.0.0.1', 'idp.good.test')
  const service = await oauth.serve({ AUTOMATION_OAUTH_PRIVATE_ORIGINS: issuer })
  await configure(oauth.platform, oauth.rival, settingsFor(issuer, { jwksUrl: `${issuer}/keys` }))
  await bind(oauth.platform, oauth.rival, CLIENT)

  const test = (index: number) =>
    fetch(`${service.url}/oauth-settings/${oauth.acme.organizationId}/test`, {
      method: 'POST',
      headers: { cookie: ada.cookie },
      body: new URLSearchParams({
        csrf_token: ada.csrfToken,
        issuer: `https://n${index}.dead.test`,
        audiences: 'x',
        scope: 'x',
        scope_claim: 'scope',
        algorithms: 'RS256',
        skew_seconds: '10',
        lifetime_seconds_max: '3600',
      }),
    })
  const tests = Promise.all(Array.from({ length: TESTS }, (_, index) => test(index)))
  // The first look-ups hang.
  await expect.poll(() => server.asked.length).toBeGreaterThan(0)
  const path = oauth.api('inputs', oauth.rival.research).replace(oauth.service.url, service.url)
  const answer = await fetch(path, { headers: newCaller(oauth.token({ iss: issuer })) })
  expect(answer.status).toBe(200)
  for (const each of await tests) expect(each.status).toBe(200)
})
