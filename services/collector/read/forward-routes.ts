import type { Hono } from 'hono'
import * as v from 'valibot'
import { integer } from '../../shared/env.ts'
import { AppError } from '../../shared/errors.ts'
import { isOrganizationName } from '../../shared/organization-name.ts'
import { MEDIA_TYPE } from '../otlp/answer.ts'
import type { Forwarding } from '../store/forwarding.ts'
import type { ReadEnv } from './admit-read.ts'
import {
  createEncoder,
  readForwardCursor,
  readForwardPage,
  toForwardCursor,
} from './forward-page.ts'
import { isInt8 } from './span-cursor.ts'
import { readBody, readParameters, requireNoParameters } from './read-query.ts'

const SPANS_MAX = 1000
const ORGANIZATIONS_MAX = 10_000
const SERVICES_MAX = 10
const SERVICE = /^[^,*]{1,100}\*?$/

const toLike = (service: string): string => service.replace(/[\\%_]/g, '\\$&').replace(/\*$/, '%')

const services = v.pipe(
  v.string(),
  v.check(
    (text) => text.split(',').every((each) => SERVICE.test(each)),
    'must be up to 10 names of services with commas between, each with an asterisk at its end at ' +
      'the most',
  ),
  v.transform((text) => text.split(',').map(toLike)),
  v.maxLength(SERVICES_MAX),
)

const pageParameters = v.object({
  after: v.optional(v.pipe(v.string(), v.transform(readForwardCursor))),
  share: v.optional(integer(1, 100), '100'),
  services: v.optional(services),
  spans: v.optional(integer(1, SPANS_MAX), String(SPANS_MAX)),
})

const declaration = v.strictObject({
  needed: v.pipe(
    v.array(
      v.strictObject({
        organization: v.pipe(
          v.string(),
          v.check((text) => isOrganizationName(text), 'must be the name of an organization'),
        ),
        first: v.pipe(
          v.string(),
          v.regex(/^\d{1,19}$/, 'must be a number'),
          v.transform((text) => BigInt(text)),
          v.check((first) => isInt8(first), 'must be a number'),
        ),
      }),
    ),
    v.maxLength(ORGANIZATIONS_MAX),
  ),
})

/**
 * Adds what the platform forwards spans with: `PUT /forwarding` says of which organizations, and
 * `GET /forwarding` has the next spans of the token's, in the order of their commits, as protobuf.
 */
export function addForwarding(
  app: Hono<ReadEnv>,
  { forwarding }: { readonly forwarding: Pick<Forwarding, 'declare'> },
): void {
  let encode: ReturnType<typeof createEncoder> | undefined
  app.put('/forwarding', async (c) => {
    c.set('view', 'forwarding')
    requireNoParameters(new URL(c.req.url).searchParams)
    if (c.var.reader.organization !== undefined) {
      throw new AppError('forbidden', 'A token of an organization may not say what is forwarded.')
    }
    const { needed } = await readBody(c.req.raw, declaration)
    await forwarding.declare(needed)
    return c.json({ organizations: needed.length }, 200, { 'cache-control': 'no-store' })
  })
  app.get('/forwarding', async (c) => {
    c.set('view', 'forwarding')
    const query = readParameters(pageParameters, new URL(c.req.url).searchParams)
    const page = await readForwardPage(c.var.reader, {
      ...query,
      after: query.after,
      services: query.services,
    })
    const body = page.json === undefined ? Buffer.alloc(0) : (encode ??= createEncoder())(page.json)
    return c.body(new Uint8Array(body), 200, {
      'cache-control': 'no-store',
      'content-type': MEDIA_TYPE.protobuf,
      'forward-cursor': toForwardCursor(page.next),
      'forward-spans': String(page.spans),
      'forward-more': String(!page.isLast),
      ...(page.notedAt === undefined ? {} : { 'forward-noted-at': page.notedAt }),
    })
  })
}
