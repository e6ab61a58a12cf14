import type { Context, MiddlewareHandler } from 'hono'
import * as v from 'valibot'
import type { Actor } from '../platform/audit/audit.ts'
import { AppError } from '../shared/errors.ts'
import { ACTOR_HEADER } from '../shared/oauth-service.ts'
import type { OauthApp } from './context.ts'

const actorSchema = v.object({
  kind: v.picklist(['person', 'token', 'client']),
  id: v.nullable(v.string()),
  name: v.pipe(v.string(), v.minLength(1)),
  organizationId: v.nullable(v.pipe(v.number(), v.integer())),
  address: v.optional(v.string()),
  requestId: v.optional(v.string()),
})

/** Whoever has the key of the service and names nobody: a program of the operator. */
const PROGRAM: Actor = {
  kind: 'operator',
  id: null,
  name: 'a program with the key of the OAuth service',
  organizationId: null,
}

/**
 * Reads for whom a service of the platform calls, so that the audit names that person. Raises
 * `invalid_request` for a header that cannot be read.
 */
export const readActingFor: MiddlewareHandler<OauthApp> = async function setActor(c, next) {
  c.set('actor', { requestId: c.var.requestId, ...readActor(c) })
  await next()
}

function readActor(c: Context<OauthApp>): Actor {
  const given = c.req.header(ACTOR_HEADER)
  if (given === undefined) return PROGRAM
  const read = v.safeParse(actorSchema, parse(Buffer.from(given, 'base64url').toString('utf8')))
  if (read.success) return read.output
  throw new AppError('invalid_request', `The header ${ACTOR_HEADER} cannot be read.`)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
