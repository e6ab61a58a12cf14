import type { Context } from 'hono'

/** Returns the versions that a change is for; none: any (RFC 9110, 13.1.1). A weak one is of no row. */
export function readIfMatch(c: Context): readonly string[] {
  const given = c.req.header('if-match')
  if (given === undefined || given.trim() === '*') return []
  return given.split(',').map((tag) => /^"([^"]*)"$/.exec(tag.trim())?.[1] ?? '')
}
