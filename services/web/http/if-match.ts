import type { Context } from 'hono'

/** Returns the versions that a change is for (RFC 9110, 13.1.1); none: any. */
export function readIfMatch(c: Context): readonly string[] {
  const given = c.req.header('if-match')
  if (given === undefined || given.trim() === '*') return []
  return given.split(',').map((tag) => /^"([^"]*)"$/.exec(tag.trim())?.[1] ?? '')
}
