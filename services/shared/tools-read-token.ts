import { createHmac, timingSafeEqual } from 'node:crypto'
import type { SecretKeys } from './crew-token.ts'

/** Longer than a build of a crew may take. */
const LIFETIME_MS = 3_600_000
const TOKEN = /^ctr_([1-9]\d{0,9})_([1-9]\d{9,11})_([0-9a-f]{64})$/

const sign = (secretKeyBase: string, organizationId: string, expires: string): string =>
  createHmac('sha256', secretKeyBase)
    .update(`tools-read:${organizationId}:${expires}`)
    .digest('hex')

/**
 * Derives a token with which the tools index lets whoever builds a crew read what one organization
 * has, for an hour unless told otherwise. It is stored nowhere, and opens nothing else.
 */
export function signToolsReadToken(
  secretKeyBase: string,
  organizationId: number,
  { expiresAtMs = Date.now() + LIFETIME_MS } = {},
): string {
  const expires = String(Math.floor(expiresAtMs / 1000))
  const signature = sign(secretKeyBase, String(organizationId), expires)
  return `ctr_${organizationId}_${expires}_${signature}`
}

/** Returns the organization of a token that is good now; undefined for any other text. */
export function verifyToolsReadToken(
  { secretKeyBase, previousSecretKeyBase: previous }: SecretKeys,
  token: string,
  nowMs = Date.now(),
): number | undefined {
  const [, organizationId = '', expires = '', signature = ''] = TOKEN.exec(token) ?? []
  if (signature === '' || Number(expires) * 1000 <= nowMs) return undefined
  const given = Buffer.from(signature)
  const isSigned = [secretKeyBase, previous].some(
    (key) =>
      key !== undefined && timingSafeEqual(given, Buffer.from(sign(key, organizationId, expires))),
  )
  return isSigned ? Number(organizationId) : undefined
}
