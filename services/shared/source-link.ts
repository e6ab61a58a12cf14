import { createHmac, timingSafeEqual } from 'node:crypto'
import type { SecretKeys } from './crew-token.ts'

/** How often links change. A link is good for one to two of these. */
const PERIOD_SECONDS = 6 * 3600

/** The end of links and tokens that pods of a source are given now, in milliseconds. */
export function linkEndMs(sourceId: number, nowMs = Date.now()): number {
  // Not those of all sources at once.
  const offset = (sourceId * 61) % PERIOD_SECONDS
  const period = Math.floor((nowMs / 1000 - offset) / PERIOD_SECONDS)
  return ((period + 2) * PERIOD_SECONDS + offset) * 1000
}

const sign = (secretKeyBase: string, sourceId: string, expires: string): string =>
  createHmac('sha256', secretKeyBase).update(`source:${sourceId}:${expires}`).digest('hex')

/** Returns the path and query below which web answers with the archive of one source. */
export function sourceLink(secretKeyBase: string, sourceId: number, nowMs = Date.now()): string {
  const expires = String(linkEndMs(sourceId, nowMs) / 1000)
  const signature = sign(secretKeyBase, String(sourceId), expires)
  return `/sources/${sourceId}/source.tar.gz?expires=${expires}&signature=${signature}`
}

/** Returns whether a link to a source was made here and is good now. */
export function isSourceLink(
  { secretKeyBase, previousSecretKeyBase: previous }: SecretKeys,
  link: { readonly id: string; readonly expires: string; readonly signature: string },
  nowMs = Date.now(),
): boolean {
  const { id, expires, signature } = link
  const isForm = /^\d{1,10}$/.test(id) && /^\d{10,12}$/.test(expires)
  if (!isForm || !/^[0-9a-f]{64}$/.test(signature) || Number(expires) * 1000 <= nowMs) return false
  const given = Buffer.from(signature)
  return [secretKeyBase, previous].some(
    (key) => key !== undefined && timingSafeEqual(given, Buffer.from(sign(key, id, expires))),
  )
}
