import type { AuditEntry } from '../../platform/audit/audit.ts'
import { isUuid } from '../../platform/automations/automations.ts'
import { AppError } from '../../shared/errors.ts'
import type { Queryable } from '../../shared/postgres/database.ts'
import { isIdCursor } from '../console/frame/lists/page-request.ts'
import { createAudited, createNoted } from '../gate/callers/audited.ts'
import type { Acting } from '../gate/callers/audited.ts'
import type { WebDeps } from '../context.ts'
import { withMail } from '../mail/mail-link.ts'
import type {
  Call,
  Declaration,
  Fields,
  Identified,
  Outcome,
  Shown,
  Values,
} from './declaration.ts'
import { endOf, namesOf } from './names.ts'
import { factsOf, requireFixed, valuesOf, versionOf } from './values.ts'

/** A request for a page or to the API. */
interface Asked {
  readonly req: { param(name: string): string | undefined }
  readonly var: Acting
}

interface Asker {
  readonly organizationId: number
  readonly userId: number | null
  readonly tokenId: number | null
}

/** A row with the call that it was found for. */
export interface Found<Owner, Row> {
  readonly call: Call<Owner>
  readonly row: Row
}

/** The new values of a row. */
interface Change<Of extends Fields> {
  readonly values: Values<Of>
  /** The versions of a row, one of which it is for; none: any. */
  readonly wanted: readonly string[]
}

/** Finds an owner and its rows for a request. */
export function createFinder<Owner, Given, Row extends Given & Identified, Of extends Fields>(
  { kind, id: idKind, under, verbs }: Declaration<Owner, Given, Row, Of>,
  deps: WebDeps,
) {
  const { noun, parameter } = namesOf(kind)

  /** Returns the call for the owner of a path. Raises `not_found`. */
  async function open(asked: Asked, { organizationId, ...by }: Asker): Promise<Call<Owner>> {
    const parameterOf = (name: string): string => asked.req.param(name) ?? ''
    const owner = await under.find(deps.sql, { organizationId, parameterOf })
    if (owner !== undefined) {
      Object.assign(asked.var.wide, valuesOf(under.facts, owner))
      return { sql: deps.sql, deps, owner, actor: asked.var.actor, ...by }
    }
    throw new AppError('not_found', `Your organization has no such ${under.noun}.`)
  }

  /** Returns the row of a path. Raises `not_found`. */
  async function find(asked: Asked, asker: Asker): Promise<Found<Owner, Row>> {
    const call = await open(asked, asker)
    const id = asked.req.param(parameter) ?? ''
    const row = IDS[idKind](id) ? await verbs.find(call, id) : undefined
    if (row !== undefined) return { call, row }
    throw new AppError('not_found', `This ${under.noun} has no such ${noun}.`)
  }

  return { open, find }
}

/** Creates what holds a row for a change. */
function createHold<Owner, Given, Row extends Given & Identified, Of extends Fields>(
  declaration: Declaration<Owner, Given, Row, Of>,
) {
  const { kind, under, verbs } = declaration
  const { noun } = namesOf(kind)

  /**
   * Returns a row as it is now; pages and API leave it so until the transaction ends. Raises
   * `not_found`, and `precondition_failed` for another version than is wanted.
   */
  return async function hold(
    tx: Queryable,
    { call, row }: Found<Owner, Row>,
    wanted: readonly string[],
  ) {
    const id = String(row.id)
    await tx`select pg_advisory_xact_lock(hashtext(${kind}), hashtext(${id}))`
    const now = await verbs.find({ ...call, sql: tx }, id)
    if (!now) throw new AppError('not_found', `This ${under.noun} has no such ${noun}.`)
    const version = versionOf(declaration, now)
    if (wanted.length === 0 || wanted.includes(version)) return now
    throw new AppError(
      'precondition_failed',
      `The ${noun} was changed meanwhile: it has another version. Look at it, and decide anew.`,
      { details: { version } },
    )
  }
}

/** Creates what makes the entry of the audit about a row. */
const createEntry =
  <Row extends Identified>({
    kind,
    name,
    concerns,
  }: Pick<Shown<unknown, Row>, 'kind' | 'name' | 'concerns'>) =>
  (past: string, row: Row, change?: Pick<AuditEntry, 'before' | 'after'>) => ({
    action: `${kind}_${past}`,
    target: { kind, id: row.id, name: name(row) },
    ...(concerns && { organizationId: concerns(row) }),
    ...change,
  })

/**
 * Creates the verbs that change rows, each with its one entry of the audit; routes call those alone
 * that the declaration has.
 */
export function createChanges<Owner, Given, Row extends Given & Identified, Of extends Fields>(
  declaration: Declaration<Owner, Given, Row, Of>,
  deps: WebDeps,
) {
  const { kind, verbs, actions } = declaration
  const [, end] = endOf(declaration)
  const audited = (declaration.isRecordedElsewhere ? createNoted : createAudited)(deps.sql)
  const hold = createHold(declaration)
  const entry = createEntry(declaration)

  return {
    async create(acting: Acting, call: Call<Owner>, values: Values<Of>) {
      const given = await verbs.read(call, values)
      const create = async (tx: Queryable) => {
        const made = await verbs.create?.({ ...call, sql: tx }, given)
        if (made) return made
        throw new AppError('method_not_allowed', `No ${namesOf(kind).noun} is created.`)
      }
      const after = factsOf(declaration, given)
      const made = await audited(acting, create, ({ row }) => entry('created', row, { after }))
      return withMail(acting, deps, made)
    },

    async change(acting: Acting, found: Found<Owner, Row>, { values, wanted }: Change<Of>) {
      requireFixed(declaration, values, found.row)
      const given = await verbs.read(found.call, values)
      const change = async (tx: Queryable) => {
        const row = await hold(tx, found, wanted)
        return { row, outcome: await verbs.change?.({ ...found.call, sql: tx }, row, given) }
      }
      const { outcome } = await audited(acting, change, ({ row }) => {
        const [before, after] = [row, given].map((each) => factsOf(declaration, each))
        return entry('changed', row, { before, after })
      })
      return outcome
    },

    async remove(acting: Acting, found: Found<Owner, Row>, wanted: readonly string[] = []) {
      const remove = async (tx: Queryable): Promise<Row> => {
        const row = await hold(tx, found, wanted)
        await verbs.remove?.({ ...found.call, sql: tx }, row)
        return row
      }
      await audited(acting, remove, (row) => entry(end, row, { before: factsOf(declaration, row) }))
    },

    async act(acting: Acting, { call, row }: Found<Owner, Row>, name: string) {
      const action = actions[name]
      if (!action) throw new AppError('not_found', `There is no action ${name}.`)
      const act = (tx: Queryable) => action.does({ ...call, sql: tx }, row)
      const made: Outcome = (await audited(acting, act, entry(action.past, row))) ?? {}
      return withMail(acting, deps, made)
    },
  }
}

const IDS: Readonly<Record<'number' | 'uuid' | 'name', (id: string) => boolean>> = {
  number: isIdCursor,
  uuid: isUuid,
  name: (id) => /^[a-z][a-z0-9_]{0,62}$/.test(id),
}
