import { randomUUID } from 'node:crypto'
import { Hono } from 'hono'
import type { Context } from 'hono'
import { receiveDelivery } from '../../../platform/triggers/receive-delivery.ts'
import type { Received } from '../../../platform/triggers/receive-delivery.ts'
import {
  SCHEMES,
  SKEW_SECONDS_MAX,
  findSkew,
} from '../../../platform/triggers/signature-schemes.ts'
import type { Signing } from '../../../platform/triggers/signature-schemes.ts'
import { findSecretOfAddress, findTrigger } from '../../../platform/triggers/triggers.ts'
import type { SealedSecret } from '../../../platform/triggers/triggers.ts'
import { createWebhookKeys } from '../../../platform/webhooks/webhook-keys.ts'
import { AppError } from '../../../shared/errors.ts'
import { mediaType, readBody } from '../../../shared/http/request-body.ts'
import type { WebApp, WebDeps } from '../../context.ts'
import { declareRight } from '../../gate/callers/declared-right.ts'
import { refuseMethod } from '../../http/refuse-method.ts'
import { parseStrictJson } from '../../../shared/http/strict-json.ts'
import { deliveryFields, toDelivery } from '../../api/designer/trigger-routes.ts'
import * as s from '../../api/openapi/parts.ts'
import { describing } from '../../api/openapi/operation.ts'

const PATH = '/hooks/:triggerId'
/** It is kept with the delivery. */
const BODY_BYTES_MAX = 1024 * 1024
/** Others say nothing of an event, and may open something. */
const NOT_KEPT = new Set(['authorization', 'cookie', 'proxy-authorization'])

const received = s.document(
  'Received',
  { ...deliveryFields, repeated: s.say(s.truth, 'A delivery with this id was received before.') },
  ({ isRepeated: repeated, ...row }: Received) => ({ ...toDelivery(row), repeated }),
)
const greeting = s.named('Greeting', {
  type: 'object',
  description: 'The answer to a message that only tries the address.',
  properties: { pong: { const: true }, challenge: s.text },
})
const deliver = describing({ tag: 'Triggers' })('deliver', 'Deliver an event of a third party', {
  description: 'Signed as the scheme of the trigger has it, at most 1 MiB.',
  body: {
    content: {
      'application/json': { schema: {} },
      'application/x-www-form-urlencoded': { schema: { type: 'object' } },
    },
  },
  200: {
    description: 'It starts no run, or its id was received before, or it tries the address.',
    content: { 'application/json': { schema: { anyOf: [received, greeting] } } },
  },
  202: ['It started a run.', received],
  400: 'It is not JSON, or was signed more than 5 minutes from now.',
  404: 'No trigger has this address, or the signature is wrong.',
  409: 'The automation is stopped or being deleted.',
  413: 'The body is larger than 1 MiB.',
  415: 'Neither JSON nor a form, or compressed.',
  422: 'The inputs that the trigger makes of it are not those of the automation.',
  429: 'There are too many calls, or runs in the queue.',
  503: 'The database is unavailable. Try again.',
  504: 'The filter and the mapping take too long; the trigger is paused.',
})

/**
 * Mounts the addresses that take the webhooks of third parties. One that no trigger has and a
 * signature that is wrong have the same answer after the same work, and are slowed down together.
 */
export function triggerRoutes(deps: WebDeps): Hono<WebApp> {
  const { sql, badTokens, calls, queue } = deps
  const routes = new Hono<WebApp>()
  const findSigned = createFindSigned(deps)

  // Third parties, with a signature.
  routes.post(PATH, declareRight('anybody', deliver), async (c) => {
    const body = await readBody(c.req.raw, BODY_BYTES_MAX)
    const signed = await findSigned(c, body)
    if (!signed) throw badTokens.answer(c, unknown(), 'hooks')
    const { id, organizationId } = signed
    Object.assign(c.var.wide, { trigger_id: id, organization_id: organizationId })
    const caller = { kind: 'client', id: `trigger:${id}`, what: 'this trigger' } as const
    const left = await calls.take({ ...caller, organizationId })
    for (const [name, value] of Object.entries(left)) c.header(name, value)
    const trigger = await findTrigger(sql, signed)
    if (!trigger) throw unknown()
    const delivery = readDelivery(c, body, signed)
    if (delivery.greeting) return c.json(delivery.greeting)
    return answer(c, await receiveDelivery(sql, { trigger, given: delivery, queue }))
  })
  routes.all(PATH, refuseMethod('POST'))
  return routes
}

const headerOf = (c: Context) => (name: string) => c.req.header(name) ?? ''

const unknown = (): AppError =>
  new AppError(
    'not_found',
    'No trigger has this address, or the call is not signed with its secret. Compare both with ' +
      'the page of the trigger.',
  )

interface Signed extends SealedSecret {
  /** By how much the clock of the sender differs, in seconds. */
  readonly skew: number
}

/** Creates what finds the trigger of a delivery; undefined unless it is signed with its secret. */
function createFindSigned({ sql, config }: WebDeps) {
  const keys = createWebhookKeys(config.SECRET_KEY_BASE, config.SECRET_KEY_BASE_PREVIOUS)
  // Stands in where there is none, so that both take as long.
  const place = { id: randomUUID(), deploymentId: 0 }
  const nobody = {
    ...place,
    scheme: 'hmac' as const,
    header: null,
    sealedKey: keys.seal(randomUUID(), place),
    sealedPreviousKey: null,
  }
  return async (c: Context<WebApp>, body: Buffer): Promise<Signed | undefined> => {
    const found = await findSecretOfAddress(sql, c.req.param('triggerId') ?? '')
    const { sealedKey, sealedPreviousKey, ...of } = found ?? nobody
    const secrets = [sealedKey, sealedPreviousKey ?? sealedKey].map(
      (sealed) => keys.open(sealed, of) ?? randomUUID(),
    )
    const skew = findSkew(of, { header: headerOf(c), body }, { secrets, now: Date.now() })
    return found && skew !== undefined ? { ...found, skew } : undefined
  }
}

/** Reads what was delivered, or says why it is refused: to its sender, and among the deliveries. */
function readDelivery(c: Context, bytes: Buffer, { skew, ...signing }: Signed) {
  const { idOf, greet } = SCHEMES[signing.scheme]
  const header = headerOf(c)
  const { body, unreadable } = tryToRead(c, bytes)
  const refused = Math.abs(skew) > SKEW_SECONDS_MAX ? offTime(skew) : unreadable
  return {
    body,
    refused,
    headers: keptHeaders(c, signing),
    schemeId: idOf(header, body),
    greeting: refused ? undefined : greet?.(header, body),
  }
}

function tryToRead(c: Context, bytes: Buffer) {
  try {
    return { body: readPayload(c.req.raw, bytes), unreadable: undefined }
  } catch (thrown) {
    if (thrown instanceof AppError) return { body: undefined, unreadable: thrown }
    throw thrown
  }
}

const offTime = (skew: number): AppError =>
  new AppError(
    'invalid_request',
    `By the clock here it was signed ${Math.abs(Math.round(skew))} seconds ` +
      `${skew > 0 ? 'ago' : 'ahead'}, and at most ${SKEW_SECONDS_MAX} are taken. Compare the ` +
      'clocks, and sign each try anew.',
  )

function keptHeaders(c: Context, { scheme, header }: Signing) {
  const { headers, usual } = SCHEMES[scheme]
  const dropped = new Set([...NOT_KEPT, ...headers, header ?? usual])
  return Object.fromEntries([...c.req.raw.headers].filter(([each]) => !dropped.has(each)))
}

function answer(c: Context<WebApp>, result: Received): Response {
  const { state, runId, isRepeated, error } = result
  Object.assign(c.var.wide, { delivery: state, kickoff_id: runId ?? undefined })
  if (error) throw error
  return c.json(received.of(result), state === 'started' && !isRepeated ? 202 : 200)
}

const FIELDS_MAX = 1000

/**
 * Reads what was delivered: JSON, or a form. A form whose only field is `payload`, as GitHub and
 * Slack send it, is the JSON in there. Raises `unsupported_media_type` and `invalid_request`.
 */
function readPayload(request: Request, body: Uint8Array): unknown {
  if (request.headers.has('content-encoding')) {
    throw new AppError('unsupported_media_type', 'Send the body without a Content-Encoding.')
  }
  const type = mediaType(request)
  if (/^application\/(?:[\w.+-]+\+)?json$/.test(type)) return parseStrictJson(body, 'The body')
  if (type === 'application/x-www-form-urlencoded') return readForm(body)
  throw new AppError(
    'unsupported_media_type',
    'Send the body as application/json or application/x-www-form-urlencoded.',
  )
}

function readForm(body: Uint8Array): unknown {
  const fields = [...new URLSearchParams(Buffer.from(body).toString())]
  const [first, ...others] = fields
  if (first?.[0] === 'payload' && others.length === 0) {
    return parseStrictJson(Buffer.from(first[1]), 'The field payload')
  }
  if (fields.length > FIELDS_MAX || fields.flat().some((text) => text.includes('\0'))) {
    throw new AppError(
      'invalid_request',
      `A form has at most ${FIELDS_MAX} fields here, without the character U+0000.`,
    )
  }
  return Object.fromEntries(fields)
}
