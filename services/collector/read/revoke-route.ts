import type { Hono } from 'hono'
import * as v from 'valibot'
import { MAX_TOKEN_ID_CHARS } from '../../shared/collector-token.ts'
import { AppError } from '../../shared/errors.ts'
import type { ReadEnv } from './admit-read.ts'
import { invalid, name, readParameters } from './read-query.ts'
import type { Revoker } from '../tokens/revoker.ts'

const revokeParameters = v.object({ reason: v.optional(name) })

/** Adds `PUT /revoked-tokens/<id>`, by which the platform revokes a token that it issued. */
export function addRevocation(
  app: Hono<ReadEnv>,
  { revoker }: { readonly revoker: Pick<Revoker, 'revoke'> },
): void {
  app.put('/revoked-tokens/:id', async (c) => {
    c.set('view', 'revoke')
    // An organization would revoke the tokens of others, whose ids it has seen somewhere.
    if (c.var.grant.organization !== undefined)
      throw new AppError(
        'forbidden',
        'Tokens are revoked with a token of the platform, without "org".',
      )
    const id = readTokenId(c.req.param('id'))
    const { reason } = readParameters(revokeParameters, new URL(c.req.url).searchParams)
    const isNew = await revoker.revoke({ id, reason })
    return c.json({ token_id: id, revoked_before: !isNew }, 200, { 'cache-control': 'no-store' })
  })
}

function readTokenId(id: string): string {
  if (id.length <= MAX_TOKEN_ID_CHARS && !id.includes('\0')) return id
  throw invalid('id', `The id of a token has 1 to ${MAX_TOKEN_ID_CHARS} characters.`)
}
