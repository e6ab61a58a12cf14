import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createLog } from '../../../../../services/shared/log.ts'
import { createGate } from '../../../../../services/web/gate/access-token/gate.ts'
import type { Gate, TokenContext } from '../../../../../services/web/gate/access-token/gate.ts'
import { createKeyStore } from '../../../../../services/web/gate/access-token/key-store.ts'
import { createVerifiedTokens } from '../../../../../services/web/gate/access-token/verified-tokens.ts'
import type { VerifiedTokens } from '../../../../../services/web/gate/access-token/verified-tokens.ts'
import { createSigningKey, startKeyServer } from '../../../../support/key-server.ts'
import type { KeyServer } from '../../../../support/key-server.ts'
import { CLIENT, mint, settingsFor } from '../../support/platform-with-oauth.ts'
import { guardFor } from '../../../../support/outgoing.ts'

const key = createSigningKey('one')
const MINUTE_MS = 60_000
let idp: KeyServer
let clockMs: number
let verified: VerifiedTokens
let gate: Gate
let context: TokenContext

beforeAll(async () => {
  idp = await startKeyServer()
})

beforeEach(() => {
  idp.publishKeys(key)
  clockMs = Date.now()
  verified = createVerifiedTokens(2)
  const log = createLog({ name: 'test', level: 'silent' })
  const now = () => clockMs
  const keys = createKeyStore({ guard: guardFor(idp.issuer), staleMs: 0, log, now })
  gate = createGate({ keys, verified, now })
  context = { organizationId: 1, settings: settingsFor(idp.issuer), boundClient: CLIENT }
})

afterAll(() => idp.stop())

const token = (changes: Record<string, unknown> = {}) => mint({ key, idp }, changes)

describe('a token whose signature was checked before (SPEC 5.2)', () => {
  it('is remembered by its digest, in a small store, and only when it was accepted', async () => {
    const [first, second, third] = [token({ jti: 1 }), token({ jti: 2 }), token({ jti: 3 })]
    for (const each of [first, second, third])
      expect(await gate.decide(each, context)).toMatchObject({ accepted: true })
    expect([first, second, third].map((each) => verified(each).known !== undefined)).toEqual([
      false,
      true,
      true,
    ])
    const refused = token({ cid: 'other' })
    await gate.decide(refused, context)
    expect(verified(refused).known).toBeUndefined()
  })

  it('is refused from the second on in which it expires', async () => {
    const short = token({ exp: Math.floor(clockMs / 1000) + 60 })
    expect(await gate.decide(short, context)).toMatchObject({ accepted: true })
    clockMs += 91_000
    expect(await gate.decide(short, context)).toMatchObject({
      accepted: false,
      reason: 'token_expired',
    })
    expect(verified(short).known).toBeUndefined()
  })

  it('is refused as soon as the binding or the settings change', async () => {
    const good = token()
    const { settings } = context
    await gate.decide(good, context)
    const changed: [Partial<TokenContext>, string][] = [
      [{ boundClient: 'other' }, 'client_mismatch'],
      [{ boundClient: null }, 'automation_not_bound'],
      [{ settings: { ...settings, scope: 'other' } }, 'insufficient_scope'],
      [{ settings: { ...settings, audiences: ['other'] } }, 'wrong_audience'],
      [{ settings: { ...settings, algorithms: ['ES256'] } }, 'algorithm_not_allowed'],
      [{ settings: { ...settings, jwksUrl: `${idp.issuer}/none` } }, 'idp_unavailable'],
    ]
    for (const [changes, reason] of changed) {
      expect(await gate.decide(good, context)).toMatchObject({ accepted: true })
      expect(await gate.decide(good, { ...context, ...changes })).toMatchObject({
        accepted: false,
        reason,
      })
    }
  })

  it('helps no other organization', async () => {
    const good = token()
    await gate.decide(good, context)
    const other = createSigningKey('one')
    const rival = await startKeyServer([other])
    const settings = settingsFor(idp.issuer, { jwksUrl: `${rival.issuer}/keys` })
    const log = createLog({ name: 'test', level: 'silent' })
    const now = () => clockMs
    const guard = guardFor(idp.issuer, rival.issuer)
    const keys = createKeyStore({ guard, staleMs: 0, log, now })
    const both = createGate({ keys, verified, now })
    expect(await both.decide(good, context)).toMatchObject({ accepted: true })
    const foreign = { ...context, organizationId: 2, settings }
    expect(await both.decide(good, foreign)).toMatchObject({
      accepted: false,
      reason: 'bad_signature',
    })
    await rival.stop()
  })

  it('is refused once its key leaves the set, and stays when the keys come again', async () => {
    const good = token()
    await gate.decide(good, context)
    const before = verified(good).known
    clockMs += 11 * MINUTE_MS
    expect(await gate.decide(good, context)).toMatchObject({ accepted: true })
    expect(verified(good).known).toBe(before)
    idp.publishKeys(createSigningKey('one'))
    clockMs += 11 * MINUTE_MS
    expect(await gate.decide(good, context)).toMatchObject({
      accepted: false,
      reason: 'bad_signature',
    })
  })
})
