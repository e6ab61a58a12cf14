import { jwtVerify, SignJWT } from 'jose'

/** The `aud` of every submission token (SPEC 5.4). */
const AUDIENCE = 'collector'
const LIFETIME_S = 300
const LEEWAY_S = 60

const keyOf = (secret: string): Uint8Array => new TextEncoder().encode(secret)

/** A token for one submission to the trace collector: HS256, valid for five minutes. Sign afresh for each export. */
export async function signCollectorToken(secret: string, issuer: string): Promise<string> {
  const now = Math.floor(Date.now() / 1000)
  return new SignJWT({})
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .setIssuer(issuer)
    .setAudience(AUDIENCE)
    .setIssuedAt(now)
    .setExpirationTime(now + LIFETIME_S)
    .sign(keyOf(secret))
}

/** Verifies a submission token against one secret. Resolves to its expiry in seconds since the epoch; raises jose's errors. */
export async function verifyCollectorToken(token: string, secret: string): Promise<number> {
  const { payload } = await jwtVerify(token, keyOf(secret), {
    algorithms: ['HS256'],
    audience: AUDIENCE,
    requiredClaims: ['exp'],
    clockTolerance: LEEWAY_S,
  })
  return payload.exp ?? 0
}
