import { createHash, createHmac, timingSafeEqual } from 'node:crypto'

const HEADERS = ['x-hub-signature-256', 'x-gitea-signature', 'x-forgejo-signature'] as const

/**
 * Tells whether a push was sent by who has the secret: signed as GitHub, Gitea and Forgejo do, or
 * with the secret itself, as GitLab sends it.
 */
export function isSigned(headers: Headers, body: Uint8Array, secret: string): boolean {
  const token = headers.get('x-gitlab-token')
  if (token !== null) return isEqual(token, secret)
  const given = HEADERS.map((name) => headers.get(name)).find((value) => value !== null)
  const expected = createHmac('sha256', secret).update(body).digest('hex')
  return given !== undefined && given !== null && isEqual(given.replace(/^sha256=/, ''), expected)
}

/** Takes as long for any two texts of the same length as given. */
function isEqual(given: string, expected: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(given), digest(expected))
}
