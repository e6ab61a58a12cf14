import { AppError, toError } from '../../shared/errors.ts'
import type { Database, Queryable, Transaction } from '../../shared/postgres/database.ts'
import { PLATFORM, writeAudit } from '../audit/audit.ts'
import type { Erasure } from './erasures.ts'
import { addItems, addRelated, readPlace, soughtOf } from './find-person.ts'
import type { Needle, NeedleSeals } from './needle.ts'
import { itemOf, PLACES } from './places.ts'
import type { Chosen } from './places.ts'

/** Items that one transaction erases, and traces that are deleted in one turn. */
const ITEMS = 50
const TRACES = 5
/** What arrives while it is erased is looked for so often, at the most. */
const PASSES_MAX = 3
const PROBLEM_MAX = 1000

/** Traces by what is looked for, some at a time. */
export interface FoundTraces {
  /** UUIDs. */
  readonly traceIds: readonly string[]
  /** Where the next ones begin; null: nothing is left. */
  readonly next: string | null
}

/** The traces of organizations, in the trace collector. */
export interface PersonTraces {
  find(organizationId: number, needle: Needle, after: string | null): Promise<FoundTraces>
  /** Deletes a trace. Returns false when a hold keeps it. */
  erase(organizationId: number, traceId: string): Promise<boolean>
  /** Takes a text out of what is of no trace alone, such as the resources that sent spans. */
  forget(organizationId: number, needle: Needle): Promise<void>
}

interface Deps {
  readonly seals: NeedleSeals
  /** Undefined without a trace collector. */
  readonly traces: PersonTraces | undefined
}

/** Holds while an erasure is to be looked for or carried out. */
export const hasOpenErasures = (sql: Queryable) => sql`
  exists (select from erasures where state in ('finding', 'erasing'))`

/**
 * Does a part of the erasure that was looked at the longest ago, and returns 1; 0 when there is
 * none or it has to wait. A part may be done twice, by two workers or after one was killed: where
 * the next part begins is written after it, and both find the same, and erase what is there.
 */
export async function performErasure(sql: Database, deps: Deps): Promise<number> {
  const [erasure] = await sql<OpenErasure[]>`
    update erasures set looked_at = clock_timestamp() where id = (
      select id from erasures where state in ('finding', 'erasing')
      order by looked_at limit 1 for update skip locked)
    returning id, organization_id, name, kind, sealed, state, place, after, pass, problem`
  if (!erasure) return 0
  try {
    const needle = openNeedle(deps.seals, erasure)
    const problem =
      erasure.state === 'finding'
        ? await findMore(sql, { ...deps, erasure, needle })
        : await eraseMore(sql, { ...deps, erasure, needle })
    if (problem !== erasure.problem) await noteProblem(sql, erasure, problem)
    return problem === null ? 1 : 0
  } catch (thrown) {
    await noteProblem(sql, erasure, toError(thrown).message.slice(0, PROBLEM_MAX))
    throw thrown
  }
}

/** Without what was found, which may be much. */
type OpenErasure = Omit<
  Erasure,
  'found' | 'createdAt' | 'createdBy' | 'confirmedAt' | 'confirmedBy' | 'erasedAt'
>

interface Part extends Deps {
  readonly erasure: OpenErasure
  readonly needle: Needle
}

function openNeedle(seals: NeedleSeals, erasure: OpenErasure): Needle {
  const value = seals.open(erasure.sealed, erasure)
  if (value !== undefined) return { kind: erasure.kind, value }
  throw new AppError(
    'invalid_configuration',
    'What this erasure looks for was sealed with another SECRET_KEY_BASE. Give that one as ' +
      'SECRET_KEY_BASE_PREVIOUS.',
  )
}

const noteProblem = (sql: Database, { id }: OpenErasure, problem: string | null) => sql`
  update erasures set problem = ${problem} where id = ${id} and state <> 'erased'`

/** Reads one page of one place, and notes where the next one begins. */
async function findMore(sql: Database, part: Part): Promise<null> {
  const { erasure } = part
  const { id, place, after } = erasure
  if (place > PLACES.length) {
    await addRelated(sql, erasure)
    await endSearch(sql, erasure)
    return null
  }
  const { kind, items, next } = await readPage(sql, part)
  await addItems(sql, id, { kind, items })
  await sql`
    update erasures set place = ${next === null ? place + 1 : place}, after = ${next}
    where id = ${id} and state = 'finding' and place = ${place}
      and after is not distinct from ${after}`
  return null
}

interface FoundPage {
  readonly kind: string
  readonly items: readonly string[]
  readonly next: string | null
}

/** Traces come behind the places. What only they have is looked for in them alone. */
async function readPage(sql: Database, { erasure, needle, traces }: Part): Promise<FoundPage> {
  const { organizationId, after } = erasure
  const place = PLACES[erasure.place]
  if (!place) {
    const page = await traces?.find(organizationId, needle, after)
    return { kind: 'trace', items: page?.traceIds ?? [], next: page?.next ?? null }
  }
  const isThere = needle.kind === 'text' || (needle.kind === 'user' && place.kind === 'run')
  if (!isThere) return { kind: place.kind, items: [], next: null }
  const page = await readPlace(sql, place, { organizationId, after, needle })
  return { kind: place.kind, items: page.found, next: page.after ?? null }
}

/** The first search makes a plan; a later one that found nothing new ends the erasure. */
async function endSearch(sql: Database, { id, place, pass }: OpenErasure): Promise<void> {
  await sql.begin(async (tx) => {
    const [ended] = await tx<Pick<Erasure, 'state' | 'name' | 'organizationId'>[]>`
      update erasures e set place = 0, after = null, problem = null, state = next.state,
        erased_at = case when next.state = 'erased' then now() end
      from (
        select case when confirmed_at is null then 'planned'
          when pass < ${PASSES_MAX} and exists (
            select from erasure_items where erasure_id = ${id} and ended_at is null)
            then 'erasing'
          else 'erased' end as state
        from erasures where id = ${id}) next
      where id = ${id} and e.state = 'finding' and place = ${place} and pass = ${pass}
      returning e.state, name, organization_id`
    if (ended?.state !== 'erased') return
    const counts = await tx<{ kind: string; erased: number; held: number }[]>`
      select kind, (count(*) filter (where ended_at is not null and not is_held))::int as erased,
        (count(*) filter (where is_held))::int as held
      from erasure_items where erasure_id = ${id} group by kind order by kind`
    await writeAudit(tx, PLATFORM, {
      action: 'erasure_completed',
      organizationId: ended.organizationId,
      target: { kind: 'erasure', id, name: ended.name },
      after: Object.fromEntries(
        counts.map(({ kind, erased, held }) => [
          kind,
          held > 0 ? `${erased}, ${held} held` : erased,
        ]),
      ),
    })
  })
}

/** Erases some items of one kind; traces last, so that the links of a plan lead to them. */
async function eraseMore(sql: Database, part: Part): Promise<string | null> {
  const { erasure, needle, traces } = part
  const { id, organizationId } = erasure
  const kinds = [...PLACES.map(({ kind }) => kind), 'trace']
  const open = await sql<{ kind: string }[]>`
    select kind from unnest(${kinds}::text[]) as k (kind) where exists (
      select from erasure_items
      where erasure_id = ${id} and erasure_items.kind = k.kind and ended_at is null)`
  const left = new Set(open.map(({ kind }) => kind))
  for (const { kind } of PLACES.filter((place) => left.has(place.kind))) {
    const { ended, again } = await sql.begin((tx) =>
      eraseItems(tx, { id, organizationId, kind, ...soughtOf(needle), isRestored: false }),
    )
    if (ended > 0) return null
    if (again > 0) return 'Runs have to end first, and to get their receipts.'
  }
  if (left.has('trace')) {
    await eraseTraces(sql, erasure, traces)
    return null
  }
  if (needle.kind === 'text') await traces?.forget(organizationId, needle)
  await sql`
    update erasures set state = 'finding', pass = pass + 1, place = 0, after = null
    where id = ${id} and state = 'erasing'`
  return null
}

interface Batch extends Pick<Chosen, 'organizationId' | 'patterns' | 'isRestored'> {
  readonly id: string
  readonly kind: string
}

/** Erases the next items of a kind in the main database, except those that a hold keeps. */
async function eraseItems(
  tx: Transaction,
  { id, organizationId, kind, patterns, isRestored }: Batch,
): Promise<{ readonly ended: number; readonly again: number }> {
  const place = PLACES.find((each) => each.kind === kind)
  const rows = await tx<{ item: string }[]>`
    select item from erasure_items
    where erasure_id = ${id} and kind = ${kind} and ended_at is null
    limit ${ITEMS} for update skip locked`
  const items = rows.map(({ item }) => item)
  if (!place || items.length === 0) return { ended: 0, again: 0 }
  const raw = (text: string) => tx.unsafe(text)
  const held = await tx<{ item: string }[]>`
    select ${raw(itemOf(place))}::text as item from ${raw(place.from)}
    where ${raw(place.organization)} = ${organizationId}
      and exists (select from legal_holds where organization_id = ${organizationId})
      and ${raw(itemOf(place))}::text = any (${items}::text[])
      and (coalesce(${raw(place.isHeld ?? 'false')}, false) or exists (
        select from legal_holds h where h.organization_id = ${organizationId} and h.kind = 'text'
          and lower((${raw(place.text)})::text) like any (h.patterns)))`
  const heldItems = new Set(held.map(({ item }) => item))
  const free = items.filter((item) => !heldItems.has(item))
  const again = new Set<string>(
    await place.erase(tx, { organizationId, items: free, patterns, isRestored }),
  )
  const ended = items.filter((item) => !again.has(item))
  await tx`
    update erasure_items set ended_at = now(), is_held = item = any (${[...heldItems]}::text[])
    where erasure_id = ${id} and kind = ${kind} and item = any (${ended}::text[])`
  return { ended: ended.length, again: again.size }
}

async function eraseTraces(
  sql: Database,
  { id, organizationId }: OpenErasure,
  traces: PersonTraces | undefined,
): Promise<void> {
  const rows = await sql<{ item: string; isHeld: boolean }[]>`
    select item, is_held(${organizationId}, item::uuid) as is_held from erasure_items
    where erasure_id = ${id} and kind = 'trace' and ended_at is null
    order by item limit ${TRACES}`
  for (const { item, isHeld } of rows) {
    const isErased = !isHeld && ((await traces?.erase(organizationId, item)) ?? true)
    if (isErased)
      await sql`
      delete from trace_scores
      where organization_id = ${organizationId} and trace_id = replace(${item}, '-', '')`
    await sql`
      update erasure_items set ended_at = now(), is_held = ${!isErased}
      where erasure_id = ${id} and kind = 'trace' and item = ${item}`
  }
}

/**
 * Carries the erasures of a database that was restored out anew: what was found is erased at once,
 * by its ids, and workers look for the rest. Returns how many items there were.
 */
export async function eraseRestored(sql: Database): Promise<number> {
  const erasures = await sql<Pick<Erasure, 'id' | 'organizationId'>[]>`
    update erasures set state = 'finding', erased_at = null, pass = 1, place = 0, after = null
    where confirmed_at is not null returning id, organization_id`
  await sql`
    update erasure_items i set ended_at = null where not is_held and exists (
      select from erasures e where e.id = i.erasure_id and e.confirmed_at is not null)`
  let count = 0
  for (const { id, organizationId } of erasures) {
    for (const { kind } of PLACES) {
      for (;;) {
        const batch = { id, organizationId, kind, patterns: [], isRestored: true }
        const { ended, again } = await sql.begin((tx) => eraseItems(tx, batch))
        count += ended + again
        if (ended === 0) break
      }
    }
  }
  return count
}
