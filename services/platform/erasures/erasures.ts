import { randomUUID } from 'node:crypto'
import { AppError } from '../../shared/errors.ts'
import type { Queryable } from '../../shared/postgres/database.ts'
import type { Needle, NeedleSeals } from './needle.ts'

/** The most erasures of an organization that a list has; the ledger has all. */
export const ERASURES_MAX = 1000
/** Items of a kind that are shown. */
const EXAMPLES = 5

/** How many things of a kind were found, and what became of them. */
interface FoundKind {
  readonly kind: string
  readonly found: number
  readonly erased: number
  /** Those that a hold keeps. */
  readonly held: number
  /** The ids of some. */
  readonly examples: readonly string[]
}

/** What is entered to order an erasure. */
interface ErasureFields {
  /** In the words of those who order it; never the person's. */
  readonly name: string
  readonly needle: Needle
}

/** An order to erase a person. */
export interface Erasure {
  readonly id: string
  readonly organizationId: number
  readonly name: string
  readonly kind: Needle['kind']
  readonly sealed: Buffer
  /** `finding` what there is, `planned`, `erasing` it, `erased`. */
  readonly state: 'finding' | 'planned' | 'erasing' | 'erased'
  readonly place: number
  readonly after: string | null
  readonly pass: number
  readonly problem: string | null
  readonly createdAt: Date
  readonly createdBy: string
  readonly confirmedAt: Date | null
  readonly confirmedBy: string | null
  readonly erasedAt: Date | null
  readonly found: readonly FoundKind[]
}

const selectErasures = (sql: Queryable, where: ReturnType<Queryable>) => sql<Erasure[]>`
  select e.id, e.organization_id, e.name, e.kind, e.sealed, e.state, e.place, e.after, e.pass,
    e.problem, e.created_at, e.created_by, e.confirmed_at, e.confirmed_by, e.erased_at, (
      select coalesce(json_agg(k order by kind), '[]') from (
        select kind, count(*) as found,
          count(*) filter (where ended_at is not null and not is_held) as erased,
          count(*) filter (where is_held) as held,
          (array_agg(item order by item))[:${EXAMPLES}] as examples
        from erasure_items where erasure_id = e.id group by kind) k) as found
  from erasures e where ${where} order by e.created_at desc limit ${ERASURES_MAX}`

/** Returns the erasures of an organization, newest first. */
export const listErasures = (sql: Queryable, organizationId: number): Promise<Erasure[]> =>
  selectErasures(sql, sql`e.organization_id = ${organizationId}`)

/** Returns an erasure; undefined for one of another organization. */
export async function findErasure(
  sql: Queryable,
  { id, organizationId }: Pick<Erasure, 'id' | 'organizationId'>,
): Promise<Erasure | undefined> {
  const [found] = await selectErasures(
    sql,
    sql`e.id = ${id} and e.organization_id = ${organizationId}`,
  )
  return found
}

/** Orders an erasure: workers look for what there is; nothing is erased before it is confirmed. */
export async function createErasure(
  sql: Queryable,
  { seals, organizationId, createdBy }: Ordering,
  { name, needle }: ErasureFields,
): Promise<Erasure> {
  const id = randomUUID()
  const sealed = seals.seal(needle.value, { id, organizationId })
  const row = { id, organizationId, name, kind: needle.kind, sealed, createdBy }
  await sql`insert into erasures ${sql(row)}`
  const created = await findErasure(sql, { id, organizationId })
  if (!created) throw new Error('The erasure that was created is not there.')
  return created
}

interface Ordering {
  readonly seals: NeedleSeals
  readonly organizationId: number
  /** The name of a person, a token or an operator. */
  readonly createdBy: string
}

/** Has workers erase what a plan has. Raises `conflict` while it is no plan. */
export async function confirmErasure(
  sql: Queryable,
  { id }: Pick<Erasure, 'id'>,
  confirmedBy: string,
): Promise<void> {
  const { count } = await sql`
    update erasures set state = 'erasing', confirmed_at = now(), confirmed_by = ${confirmedBy},
      problem = null
    where id = ${id} and state = 'planned'`
  if (count > 0) return
  throw new AppError(
    'conflict',
    'Only a plan is confirmed: what this erasure is to erase is still being looked for, or it ' +
      'was confirmed already.',
  )
}

/** Withdraws an order. Raises `conflict` for one that was confirmed: it is part of the ledger. */
export async function withdrawErasure(sql: Queryable, { id }: Pick<Erasure, 'id'>): Promise<void> {
  const { count } = await sql`delete from erasures where id = ${id} and confirmed_at is null`
  if (count > 0) return
  throw new AppError(
    'conflict',
    'An erasure that was confirmed stays: restored backups are erased by it.',
  )
}

/** Returns what erasures look for, sealed, after `afterId`; fewer than `limit` are the last. */
export const listSealedNeedles = (
  sql: Queryable,
  { afterId, limit }: { readonly afterId: string; readonly limit: number },
): Promise<Pick<Erasure, 'id' | 'organizationId' | 'sealed'>[]> => sql`
  select id, organization_id, sealed from erasures where id > ${afterId} order by id limit ${limit}`

/** Puts another seal on what an erasure looks for, unless one has done so meanwhile. */
export async function replaceSealedNeedle(
  sql: Queryable,
  { id, sealed }: Pick<Erasure, 'id' | 'sealed'>,
  resealed: Buffer,
): Promise<void> {
  await sql`update erasures set sealed = ${resealed} where id = ${id} and sealed = ${sealed}`
}
