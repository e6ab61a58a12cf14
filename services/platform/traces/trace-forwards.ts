import { inTransaction } from '../../shared/postgres/database.ts'
import type { Queryable } from '../../shared/postgres/database.ts'
import { sqlState } from '../../shared/postgres/failures.ts'
import { AppError } from '../../shared/errors.ts'
import type { OutgoingGuard } from '../../shared/outgoing/guard.ts'
import { isUuid } from '../automations/automations.ts'
import { webhookAddressProblem } from '../webhooks/webhook-fields.ts'
import type { SealedWebhookKeys } from '../webhooks/webhooks.ts'

/** The most addresses that an organization forwards spans to. */
export const TRACE_FORWARDS_MAX = 5
/** The longest texts, in characters. */
export const FORWARD_LENGTHS = { name: 100, endpoint: 2000, headers: 4096, service: 100 } as const

/** The most services that a forward names. */
export const FORWARD_SERVICES_MAX = 10
/** The name of a service, or its beginning before an asterisk. */
export const SERVICE_PATTERN = /^[^\s,*]+( [^\s,*]+)*\*?$/

/** Names a forward of an organization. */
interface TraceForwardKey {
  readonly id: string
  readonly organizationId: number
}

/** The fields of a forward that people enter. */
export interface TraceForwardFields {
  readonly name: string
  /** The base of the address; `/v1/traces` is added. */
  readonly endpoint: string
  /** Of 100 traces so many. */
  readonly share: number
  /** Only spans of these services, as `SERVICE_PATTERN` has them; none: of all. */
  readonly services: readonly string[]
  /** Where the address is, as people say; null: they say nothing. */
  readonly region: string | null
}

/** An address that the spans of an organization are forwarded to. */
export interface TraceForward extends TraceForwardKey, TraceForwardFields {
  readonly hasHeaders: boolean
  /** From when on spans are forwarded; null: it has not begun. */
  readonly beganAt: Date | null
  /** Spans that the receiver took, and those that it did not take of what it answered for. */
  readonly forwarded: number
  readonly rejected: number
  /** The commit of the oldest span that waits, as of the last look. */
  readonly waitingSince: Date | null
  readonly failingSince: Date | null
  /** Why the last try failed. */
  readonly problem: string | null
  readonly pausedAt: Date | null
  /** Why the platform paused it; null: a person did. */
  readonly pauseReason: string | null
  readonly createdAt: Date
}

const columns = (sql: Queryable) => sql`
  id, organization_id, name, endpoint, share, services, region,
  sealed_headers is not null as has_headers, began_at, forwarded::float8 as forwarded,
  rejected::float8 as rejected, waiting_since, failing_since, problem, paused_at, pause_reason,
  created_at`

const isOf = (sql: Queryable, { id, organizationId }: TraceForwardKey) => sql`
  id = ${id} and organization_id = ${organizationId}`

/** Raises `unprocessable` for an address that spans are not sent to. */
export function checkEndpoint(endpoint: string, guard: OutgoingGuard): void {
  const problem =
    webhookAddressProblem(endpoint, guard, 'https://otlp.example.com') ??
    (/\?|\/v1\/traces\/?$/.test(endpoint)
      ? 'The address must be the base of the endpoint: without a query, and without /v1/traces, ' +
        'which is added to it.'
      : undefined)
  if (problem !== undefined) throw new AppError('unprocessable', problem)
}

const HEADERS_MAX = 20
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9a-z-]{1,100}$/
const HEADER_VALUE = /^[\x20-\x7e]{1,4096}$/
/** Those that the request itself has. */
const OWN_HEADERS =
  /^(host|connection|keep-alive|te|trailer|upgrade|expect|content-.*|transfer-.*|proxy-.*)$/

/**
 * Reads headers as `OTEL_EXPORTER_OTLP_HEADERS` has them: `name=value` with commas between, values
 * percent-encoded. Raises `unprocessable`, which never repeats a value.
 */
export function readForwardHeaders(text: string): Readonly<Record<string, string>> {
  const headers: Record<string, string> = Object.create(null) as Record<string, string>
  const pairs = text.split(',').filter((pair) => pair.trim() !== '')
  for (const [index, pair] of pairs.entries()) {
    const [name = '', ...rest] = pair.split('=')
    const key = name.trim().toLowerCase()
    const value = decoded(rest.join('=').trim())
    if (!HEADER_NAME.test(key) || value === undefined || !HEADER_VALUE.test(value))
      throw wrongHeaders(`Number ${index + 1} is not of that form`)
    if (OWN_HEADERS.test(key) || key in headers)
      throw wrongHeaders(`"${key}" is given twice, or belongs to the request itself`)
    headers[key] = value
  }
  if (pairs.length > HEADERS_MAX) throw wrongHeaders(`There are ${pairs.length} of ${HEADERS_MAX}`)
  return headers
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

const wrongHeaders = (why: string): AppError =>
  new AppError(
    'unprocessable',
    `${why}. Headers are name=value with commas between, values percent-encoded, such as ` +
      'authorization=Basic%20abc,x-team=crews.',
  )

const toRow = ({ name, endpoint, share, services, region }: TraceForwardFields) => ({
  name,
  endpoint,
  share,
  services: [...services],
  region,
})

const nameTaken = (thrown: unknown): unknown =>
  sqlState(thrown) === '23505'
    ? new AppError('conflict', 'Your organization has a trace forward of this name.')
    : thrown

/** Creates a forward. Raises `conflict` for a name that is taken, and beyond the most. */
export async function createTraceForward(
  sql: Queryable,
  forward: TraceForwardKey & TraceForwardFields & { readonly sealedHeaders: Buffer | null },
): Promise<TraceForward> {
  const { id, organizationId, sealedHeaders } = forward
  return inTransaction(sql, async (tx) => {
    await tx`select from organizations where id = ${organizationId} for no key update`
    const [{ count }] = await tx<[{ count: number }]>`
      select count(*)::int as count from trace_forwards where organization_id = ${organizationId}`
    if (count >= TRACE_FORWARDS_MAX) {
      throw new AppError(
        'conflict',
        `An organization has at most ${TRACE_FORWARDS_MAX} trace forwards. Delete one that is no ` +
          'longer used.',
      )
    }
    const row = { ...toRow(forward), id, organizationId, sealedHeaders }
    const [created] = await tx<[TraceForward]>`
      insert into trace_forwards ${tx(row)} returning ${columns(tx)}`
    await tx`notify trace_forward_due`
    return created
  }).catch((thrown: unknown) => {
    throw nameTaken(thrown)
  })
}

/**
 * Changes a forward. Undefined headers stay while they go to the same origin; null removes them.
 * Raises `unprocessable` when stored ones would go elsewhere, and `conflict` for a taken name.
 */
export async function updateTraceForward(
  sql: Queryable,
  { id, organizationId, ...before }: TraceForward,
  given: TraceForwardFields & { readonly sealedHeaders: Buffer | null | undefined },
): Promise<boolean> {
  const { sealedHeaders } = given
  const goesElsewhere = new URL(before.endpoint).origin !== new URL(given.endpoint).origin
  if (sealedHeaders === undefined && before.hasHeaders && goesElsewhere) {
    throw new AppError(
      'unprocessable',
      'The stored headers do not go to another origin. Give the headers for the new address, or ' +
        'an empty text for none.',
    )
  }
  const row = { ...toRow(given), ...(sealedHeaders !== undefined && { sealedHeaders }) }
  const { count } = await sql`
    update trace_forwards set ${sql(row)}, tries = 0, due_at = now()
    where ${isOf(sql, { id, organizationId })} and endpoint = ${before.endpoint}`.catch(
    (thrown: unknown) => {
      throw nameTaken(thrown)
    },
  )
  return count > 0
}

/** Returns a forward; undefined for one of another organization. */
export async function findTraceForward(
  sql: Queryable,
  key: TraceForwardKey,
): Promise<TraceForward | undefined> {
  if (!isUuid(key.id)) return undefined
  const [found] = await sql<TraceForward[]>`
    select ${columns(sql)} from trace_forwards where ${isOf(sql, key)}`
  return found
}

/** Returns the forwards of an organization by name. */
export const listTraceForwards = (
  sql: Queryable,
  organizationId: number,
): Promise<TraceForward[]> =>
  sql<TraceForward[]>`
    select ${columns(sql)} from trace_forwards
    where organization_id = ${organizationId} order by name, id`

/** Deletes a forward. */
export async function deleteTraceForward(sql: Queryable, key: TraceForwardKey): Promise<void> {
  await sql`
    with deleted as (delete from trace_forwards where ${isOf(sql, key)})
    select pg_notify('trace_forward_due', '')`
}

/** Stops forwarding; what is committed meanwhile waits. The reason is the platform's, if it did. */
export async function pauseTraceForward(
  sql: Queryable,
  { id }: Pick<TraceForwardKey, 'id'>,
  reason: string | null = null,
): Promise<void> {
  await sql`
    update trace_forwards set paused_at = now(), pause_reason = ${reason}
    where id = ${id} and paused_at is null`
}

/** Forwards what waits, and what is committed from now on. */
export async function resumeTraceForward(
  sql: Queryable,
  { id }: Pick<TraceForwardKey, 'id'>,
): Promise<void> {
  await sql`
    with resumed as (
      update trace_forwards set paused_at = null, pause_reason = null, failing_since = null,
        problem = null, tries = 0, due_at = now()
      where id = ${id})
    select pg_notify('trace_forward_due', '')`
}

/** Returns the headers of all forwards after `afterId`, by id; fewer than `limit` are the last. */
export const listSealedForwardHeaders = (
  sql: Queryable,
  { afterId, limit }: { afterId: string; limit: number },
): Promise<SealedWebhookKeys[]> =>
  sql<SealedWebhookKeys[]>`
    select id, organization_id as deployment_id, sealed_headers as sealed_key,
      null as sealed_previous_key
    from trace_forwards where sealed_headers is not null and id > ${afterId}
    order by id limit ${limit}`

/** Puts another seal on the headers of a forward, unless somebody has changed them meanwhile. */
export async function replaceSealedForwardHeaders(
  sql: Queryable,
  before: SealedWebhookKeys,
  { sealedKey }: SealedWebhookKeys,
): Promise<void> {
  await sql`
    update trace_forwards set sealed_headers = ${sealedKey}
    where id = ${before.id} and sealed_headers = ${before.sealedKey}`
}
