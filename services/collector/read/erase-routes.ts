import type { Hono } from 'hono'
import * as v from 'valibot'
import { AppError } from '../../shared/errors.ts'
import type { Eraser } from '../store/erasures/erase-trace.ts'
import type { ReadEnv } from './admit-read.ts'
import { isTraceId, readBody, readTraceId, requireNoParameters } from './read-query.ts'

const TRACES_MAX = 1000
const NO_STORE = { 'cache-control': 'no-store' }

const pattern = v.pipe(v.string(), v.minLength(5), v.maxLength(20_000))
const patterns = v.optional(v.pipe(v.array(pattern), v.maxLength(20)), [])
const short = v.pipe(v.string(), v.minLength(1), v.maxLength(512))
const mention = v.strictObject({
  patterns,
  bytes_patterns: patterns,
  user: v.optional(short),
  attribute: v.optional(v.strictObject({ key: short, value: short })),
  after: v.optional(
    v.pipe(v.string(), v.regex(/^[-+: .\d]{10,40} [0-9a-f-]{36}$/, 'is no cursor')),
  ),
})
const held = v.strictObject({
  trace_ids: v.pipe(
    v.array(
      v.pipe(
        v.string(),
        v.check(isTraceId, 'must be a trace id of 32 hexadecimal digits'),
        v.transform(readTraceId),
      ),
    ),
    v.maxLength(TRACES_MAX),
  ),
})

/**
 * Adds what deletes and what keeps: `DELETE /traces/<id>`; `/mentions`, by which the platform finds
 * the traces of a person; and `/holds/<id>`, its legal holds. All are of the organization of the
 * token, and of the platform's own traces without one.
 */
export function addErasing(app: Hono<ReadEnv>, { eraser }: { readonly eraser: Eraser }): void {
  app.delete('/traces/:id', async (c) => {
    c.set('view', 'erase')
    const traceId = readTraceId(c.req.param('id'))
    requireNoParameters(new URL(c.req.url).searchParams)
    const { issuer, tokenId } = c.var.grant
    const { organization = '' } = c.var.reader
    const erased = await eraser.erase({ traceId, organization, issuer, tokenId })
    const answer = { trace_id: traceId.replaceAll('-', ''), organization, spans: erased.spans }
    return c.json({ ...answer, erased_at: erased.erasedAt }, 200, NO_STORE)
  })
  app.post('/mentions', async (c) => {
    c.set('view', 'mentions')
    const { organization = '' } = c.var.reader
    const { bytes_patterns: bytesPatterns, after, ...asked } = await readBody(c.req.raw, mention)
    const found = await eraser.find({ ...asked, bytesPatterns, after, organization })
    return c.json({ trace_ids: found.traceIds, next: found.next ?? null }, 200, NO_STORE)
  })
  app.delete('/mentions', async (c) => {
    c.set('view', 'mentions')
    const { organization = '' } = c.var.reader
    const { bytes_patterns: bytesPatterns, ...asked } = await readBody(c.req.raw, mention)
    await eraser.forget({ ...asked, bytesPatterns, organization })
    return c.json({ organization }, 200, NO_STORE)
  })
  app.put('/holds/:id', async (c) => {
    c.set('view', 'holds')
    const { organization = '' } = c.var.reader
    const hold = { organization, holdId: readHoldId(c.req.param('id')) }
    const { trace_ids: traceIds } = await readBody(c.req.raw, held)
    await eraser.hold(hold, traceIds)
    return c.json({ organization, hold_id: hold.holdId, traces: traceIds.length }, 200, NO_STORE)
  })
  app.delete('/holds/:id', async (c) => {
    c.set('view', 'holds')
    const { organization = '' } = c.var.reader
    const hold = { organization, holdId: readHoldId(c.req.param('id')) }
    const lifted = await eraser.lift(hold)
    return c.json({ organization, hold_id: hold.holdId, traces: lifted }, 200, NO_STORE)
  })
}

function readHoldId(given: string): string {
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(given)) return given
  throw new AppError('invalid_request', 'The id of a hold is a UUID.')
}
