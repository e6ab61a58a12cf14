import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createWorkloadRule } from '../../../../../services/platform/workloads/workload-rules.ts'
import { FRESH_MS } from '../../../../../services/web/gate/access-token/key-set.ts'
import { createSigningKey, signToken, startKeyServer } from '../../../../support/key-server.ts'
import type { KeyServer, SigningKey } from '../../../../support/key-server.ts'
import { isLong } from '../../../../support/long.ts'
import { BASE_URL, openPlatform } from '../../support/platform.ts'
import type { Platform } from '../../support/platform.ts'
import { newCaller } from '../../support/platform-with-oauth.ts'

const MINUTE_MS = 60_000
/** Between two rotations, and from the time when the next key signs to the end of the former. */
const ROTATION_MS = 30 * MINUTE_MS
const OVERLAP_MS = 5 * MINUTE_MS
/** Longer than any exchange takes, however much the others move the clock meanwhile. */
const TOKEN_SECONDS = 3600
/** On average eight exchanges are in progress, and this is how far the clock goes on by each. */
const STEP_MS = 20_000

let platform: Platform
let idp: KeyServer
let app: Platform['app']
let audience: string

beforeAll(async () => {
  // Faked is the clock alone, which the app takes when it is made: no timer waits otherwise.
  vi.useFakeTimers({ toFake: ['Date'] })
  idp = await startKeyServer()
  platform = await openPlatform()
  app = platform.appAt(BASE_URL, {
    TRUSTED_PROXIES: '1',
    AUTOMATION_OAUTH_PRIVATE_ORIGINS: idp.issuer,
    TOKEN_CALLS_PER_MINUTE: '0',
    ORGANIZATION_CALLS_PER_MINUTE: '0',
  })
  audience = `${BASE_URL}/platform/api/v1/crew/${platform.acme.research.automationId}`
  await createWorkloadRule(platform.sql, platform.acme.research.id, {
    name: 'Site',
    issuer: idp.issuer,
    jwksUrl: null,
    claims: { sub: 'site' },
    scopes: ['kickoff', 'read'],
    minutes: 15,
    isReusable: false,
  })
})
afterAll(async () => {
  vi.useRealTimers()
  await Promise.all([idp.stop(), platform.close()])
})

let count = 0

function mint(key: SigningKey): string {
  const iat = Math.floor(Date.now() / 1000)
  const exp = iat + TOKEN_SECONDS
  const claims = {
    iss: idp.issuer,
    aud: audience,
    sub: 'site',
    jti: String((count += 1)),
    iat,
    exp,
  }
  return signToken({ alg: 'RS256', kid: key.jwk['kid'] }, claims, key)
}

async function exchange(token: string): Promise<number> {
  const body = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    subject_token: token,
    audience,
  }).toString()
  const headers = { ...newCaller(), 'content-type': 'application/x-www-form-urlencoded' }
  const response = await app.request(`${BASE_URL}/oauth/token`, { method: 'POST', body, headers })
  await response.body?.cancel()
  return response.status
}

/** An issuer that signs with the newest of its keys, and takes the one before away later. */
function rotateKeys(keys: readonly SigningKey[]) {
  const began = Date.now()
  return {
    now() {
      const at = (Date.now() - began) / ROTATION_MS
      const index = Math.min(Math.floor(at), keys.length - 1)
      const isOverlap = (at - index) * ROTATION_MS < OVERLAP_MS
      const [present, former] = [keys[index], keys[index - 1]]
      if (!present) throw new Error('no key')
      return { present, former, isOverlap, sinceMs: (at - index) * ROTATION_MS }
    },
    isOver: () => Date.now() - began > keys.length * ROTATION_MS,
  }
}

/** Between the end of a key and the next look at the keys, its tokens may be taken or not. */
function kindOf(sent: { isOld: boolean; isOverlap: boolean; sinceMs: number }) {
  if (!sent.isOld || sent.isOverlap) return 'good'
  return sent.sinceMs > OVERLAP_MS + FRESH_MS ? 'ended' : 'between'
}

describe('an issuer that rotates its keys while workloads exchange tokens', () => {
  it('has none refused wrongly, and none taken of a key whose end has come', async () => {
    const keys = Array.from({ length: isLong ? 20 : 2 }, (_, at) => createSigningKey(`key-${at}`))
    const issuer = rotateKeys(keys)
    const wrong: string[] = []
    const counts = { good: 0, ended: 0, between: 0 }
    const sendOne = async (): Promise<void> => {
      const { present, former, isOverlap, sinceMs } = issuer.now()
      idp.publishKeys(present, ...(isOverlap && former ? [former] : []))
      const isOld = former !== undefined && count % 3 === 0
      const status = await exchange(mint(isOld ? former : present))
      const kind = kindOf({ isOld, isOverlap, sinceMs })
      counts[kind] += 1
      // Meanwhile the overlap may have ended.
      const isStill = !isOld || issuer.now().isOverlap
      if ((kind === 'good' && isStill && status !== 200) || (kind === 'ended' && status !== 400)) {
        wrong.push(`${String(present.jwk['kid'])} + ${sinceMs / MINUTE_MS} min: ${kind}, ${status}`)
      }
      vi.setSystemTime(Date.now() + STEP_MS)
    }
    const send = async (): Promise<void> => {
      while (!issuer.isOver()) await sendOne()
    }
    await Promise.all(Array.from({ length: 8 }, send))
    expect(wrong).toEqual([])
    expect(counts.good).toBeGreaterThan(keys.length * 50)
    expect(counts.ended).toBeGreaterThan(keys.length * 5)
  })
})
