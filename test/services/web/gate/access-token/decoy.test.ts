import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDecoy } from '../../../../../services/web/gate/access-token/decoy.ts'
import { createSignatureCheck } from '../../../../../services/web/gate/access-token/signature-check.ts'
import { base64url } from '../../../../support/key-server.ts'
import {
  bind,
  CLIENT,
  configure,
  openPlatformWithOauth,
  newCaller,
  settingsFor,
} from '../../support/platform-with-oauth.ts'
import type { PlatformWithOauth } from '../../support/platform-with-oauth.ts'

let oauth: PlatformWithOauth

beforeAll(async () => {
  oauth = await openPlatformWithOauth()
})

afterAll(() => oauth.close())

const forged = (alg: string, bytes: number, claims: Record<string, unknown> = {}): string => {
  const now = Math.floor(Date.now() / 1000)
  const payload = { iss: oauth.idp.issuer, iat: now, exp: now + 60, ...claims }
  const kid = oauth.key.jwk.kid
  return [base64url({ alg, kid }), base64url(payload), base64url(randomBytes(bytes))].join('.')
}

async function answer(automationId: string, token: string) {
  const automation = { ...oauth.acme.research, automationId }
  const headers = { ...newCaller(token), 'x-request-id': 'the-same-one' }
  const response = await fetch(oauth.api('inputs', automation), { headers })
  return [response.status, response.headers.get('www-authenticate'), await response.text()]
}

const decoy = createDecoy(createSignatureCheck())

describe('a forged token', () => {
  it.each([
    ['RS256', 256],
    ['PS256', 256],
    ['ES256', 64],
    ['EdDSA', 64],
  ])('with %s is refused alike with an automation and without one', async (alg, bytes) => {
    const token = forged(alg, bytes)
    expect(await answer(randomUUID(), token)).toEqual(
      await answer(oauth.acme.research.automationId, token),
    )
    expect(await decoy.refuse(token)).toBe('bad_signature')
  })

  it('is refused for what is wrong before the signature without looking at it', async () => {
    expect(await decoy.refuse('a.b')).toBe('malformed_token')
    expect(await decoy.refuse(forged('none', 0))).not.toBe('bad_signature')
    expect(await decoy.refuse(forged('HS256', 32))).toBe('algorithm_not_allowed')
  })
})

describe('while the identity provider cannot be reached', () => {
  it('only a token that names it is told so; to others no automation shows', async () => {
    const unavailable = 'http://127.0.0.1:9'
    const service = await oauth.serve({ AUTOMATION_OAUTH_PRIVATE_ORIGINS: unavailable })
    await configure(oauth.platform, oauth.rival, settingsFor(unavailable))
    await bind(oauth.platform, oauth.rival, CLIENT)
    const url = oauth.api('inputs', oauth.rival.research).replace(oauth.service.url, service.url)
    const status = async (token: string) => (await fetch(url, { headers: newCaller(token) })).status
    expect(await status(forged('RS256', 256, { iss: unavailable }))).toBe(503)
    expect(await status(forged('RS256', 256))).toBe(401)
  })
})
