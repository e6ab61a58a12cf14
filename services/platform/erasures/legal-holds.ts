import type { Row } from 'postgres'
import { AppError, toError } from '../../shared/errors.ts'
import type { TraceHolds } from '../../shared/trace-holds.ts'
import type { Database, Queryable } from '../../shared/postgres/database.ts'
import { isUuid } from '../automations/automations.ts'
import { readPlace } from './find-person.ts'
import { patternsOf } from './needle.ts'
import type { Needle } from './needle.ts'
import type { PersonTraces } from './perform-erasure.ts'
import { PLACES } from './places.ts'

/** The most holds of an organization. */
export const HOLDS_MAX = 200
/** What a hold keeps: by the id of an automation, a run, a trace or a user, or by a text. */
export const HOLD_KINDS = ['automation', 'run', 'trace', 'user', 'text'] as const
/** After so many hours traces that arrived meanwhile are put under it as well. */
const AGAIN_HOURS = 6
const PROBLEM_MAX = 1000

/** What is entered for a hold. */
export interface HoldFields {
  readonly name: string
  readonly kind: (typeof HOLD_KINDS)[number]
  readonly value: string
}

/** Keeps data from erasure, retention and deletion until it is lifted. */
export interface LegalHold extends HoldFields {
  readonly id: string
  readonly organizationId: number
  readonly place: number
  readonly after: string | null
  /** When all of its traces were last put under it; null: not yet. */
  readonly appliedAt: Date | null
  readonly problem: string | null
  readonly createdAt: Date
  readonly createdBy: string
}

const columns = (sql: Queryable) => sql`
  id, organization_id, name, kind, value, place, after, applied_at, problem, created_at, created_by`

/** Returns the holds of an organization, newest first. */
export const listHolds = (sql: Queryable, organizationId: number): Promise<LegalHold[]> =>
  sql<LegalHold[]>`
    select ${columns(sql)} from legal_holds where organization_id = ${organizationId}
    order by created_at desc`

/** Returns a hold; undefined for one of another organization. */
export async function findHold(
  sql: Queryable,
  { id, organizationId }: Pick<LegalHold, 'id' | 'organizationId'>,
): Promise<LegalHold | undefined> {
  const [found] = await sql<LegalHold[]>`
    select ${columns(sql)} from legal_holds
    where id = ${id} and organization_id = ${organizationId}`
  return found
}

/**
 * Returns a hold as it is kept. Raises `unprocessable` for an id that the organization does not
 * have, and for a text of fewer than three characters.
 */
export async function readHold(
  sql: Queryable,
  organizationId: number,
  { name, kind, value }: HoldFields,
): Promise<HoldFields> {
  if (kind === 'user') return { name, kind, value }
  if (kind === 'text') {
    if (value.length >= 3) return { name, kind, value }
    throw new AppError('unprocessable', 'A text that a hold keeps has at least 3 characters.')
  }
  const id = value.toLowerCase().replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  const isKnown =
    isUuid(id) && (kind === 'trace' || (await isOf(sql, organizationId, { kind, id })))
  if (isKnown) return { name, kind, value: id }
  const known = kind === 'trace' ? 'A trace has an id of 32 hexadecimal digits' : NO_SUCH
  throw new AppError('unprocessable', `${known} (given: ${value}, of a ${kind}).`)
}

const NO_SUCH = 'Your organization has nothing with this id'

async function isOf(
  sql: Queryable,
  organizationId: number,
  { kind, id }: { readonly kind: 'automation' | 'run'; readonly id: string },
): Promise<boolean> {
  const found =
    kind === 'run'
      ? sql`select from executions where id = ${id} and organization_id = ${organizationId}`
      : sql`
          select from deployments
          where automation_id = ${id} and organization_id = ${organizationId}`
  return (await found).length > 0
}

/** Creates a hold, which applies from the commit on. Raises `conflict` for one too many. */
export async function createHold(
  sql: Queryable,
  { organizationId, createdBy }: Pick<LegalHold, 'organizationId' | 'createdBy'>,
  { name, kind, value }: HoldFields,
): Promise<LegalHold> {
  const patterns = kind === 'text' ? patternsOf(value) : []
  const [created] = await sql<LegalHold[]>`
    insert into legal_holds (organization_id, name, kind, value, patterns, created_by)
    select ${organizationId}, ${name}, ${kind}, ${value}, ${patterns}::text[], ${createdBy}
    where (
      select count(*) from legal_holds where organization_id = ${organizationId}) < ${HOLDS_MAX}
    returning ${columns(sql)}`
  if (created) return created
  throw new AppError('conflict', `An organization has at most ${HOLDS_MAX} holds. Lift one first.`)
}

/** Lifts a hold: what it kept is deleted as if it had never been there. */
export async function liftHold(sql: Queryable, { id }: Pick<LegalHold, 'id'>): Promise<void> {
  await sql`delete from legal_holds where id = ${id}`
}

const isDue = (sql: Queryable) => sql`(
  applied_at is null or applied_at < now() - make_interval(hours => ${AGAIN_HOURS}))`

/** Holds while a hold has traces that it may not have been put over. */
export const hasDueHolds = (sql: Queryable) => sql`
  exists (select from legal_holds where ${isDue(sql)})`

/**
 * Puts some traces of the hold that was looked at the longest ago under it, and returns 1; 0 when
 * there is none. Each hold begins anew after some hours.
 */
export async function applyHolds(
  sql: Database,
  { holds, traces }: { readonly holds: TraceHolds; readonly traces: Pick<PersonTraces, 'find'> },
): Promise<number> {
  const [hold] = await sql<LegalHold[]>`
    update legal_holds set looked_at = clock_timestamp() where id = (
      select id from legal_holds
      where ${isDue(sql)}
      order by looked_at limit 1 for update skip locked)
    returning ${columns(sql)}`
  if (!hold) return 0
  try {
    const { traceIds, place, after } = await findHeld(sql, hold, traces)
    await sql.begin(async (tx) => {
      // Until the traces are handed over it is not lifted, and no trace stays under it afterwards.
      const there = await tx`select from legal_holds where id = ${hold.id} for key share`
      if (there.length === 0) return
      if (traceIds.length > 0) await holds.add(hold.organizationId, hold.id, traceIds)
      await tx`
        update legal_holds set place = ${place}, after = ${after}, problem = null,
          applied_at = case when ${place === 0 && after === null} then now() else applied_at end
        where id = ${hold.id} and place = ${hold.place}
          and after is not distinct from ${hold.after}`
    })
    return 1
  } catch (thrown) {
    const problem = toError(thrown).message.slice(0, PROBLEM_MAX)
    await sql`update legal_holds set problem = ${problem} where id = ${hold.id}`
    throw thrown
  }
}

/** Finds the next traces of a hold: those of its runs, then those that have its text or user. */
async function findHeld(
  sql: Database,
  hold: LegalHold,
  traces: Pick<PersonTraces, 'find'>,
): Promise<{ readonly traceIds: readonly string[]; place: number; after: string | null }> {
  const { kind, value, organizationId, after } = hold
  if (kind === 'run' || kind === 'trace') return { traceIds: [value], place: 0, after: null }
  const needle: Needle = { kind: kind === 'automation' ? 'attribute' : kind, value }
  const [runs] = PLACES
  if (hold.place === 0 && runs) {
    const ofAutomation = (tx: Queryable) => tx<Row[]>`t.deployment_id = (
      select id from deployments where automation_id = ${value})`
    const place = kind === 'automation' ? { ...runs, isFound: ofAutomation } : runs
    const page = await readPlace(sql, place, { organizationId, after, needle })
    const isLast = page.after === undefined
    const next = isLast && kind !== 'automation' ? 1 : 0
    return { traceIds: page.found, place: next, after: page.after ?? null }
  }
  const page = await traces.find(organizationId, needle, after)
  return { traceIds: page.traceIds, place: page.next === null ? 0 : 1, after: page.next }
}
