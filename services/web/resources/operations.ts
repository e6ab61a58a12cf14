import type { AuditEntry } from '../../platform/audit/audit.ts'
import { AppError } from '../../shared/errors.ts'
import type { Transaction } from '../../shared/postgres/database.ts'
import { createAudited } from '../gate/callers/audited.ts'
import type { Acting } from '../gate/callers/audited.ts'
import type { WebDeps } from '../context.ts'
import type { Call, Declaration, Fields, Identified, Outcome, Values } from './declaration.ts'
import { namesOf } from './names.ts'
import { factsOf, requireFixed, valuesOf } from './values.ts'

const NUMBER = /^[1-9]\d{0,9}$/
const NUMBER_MAX = 2 ** 31 - 1
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** A request for a page or to the API. */
interface Asked {
  readonly req: { param(name: string): string | undefined }
  readonly var: Acting
}

interface Asker {
  readonly organizationId: number
  /** null: a token. */
  readonly userId: number | null
}

/** A row with the call that it was found for. */
export interface Found<Owner, Row> {
  readonly call: Call<Owner>
  readonly row: Row
}

/** Finds an owner and its rows for a request. */
export function createFinder<Owner, Given, Row extends Given & Identified, Of extends Fields>(
  { kind, id: idKind, under, verbs }: Declaration<Owner, Given, Row, Of>,
  deps: WebDeps,
) {
  const { noun, parameter } = namesOf(kind)

  /** Returns the call for the owner of a path. Raises `not_found`. */
  async function open(asked: Asked, { organizationId, userId }: Asker): Promise<Call<Owner>> {
    const parameterOf = (name: string): string => asked.req.param(name) ?? ''
    const owner = await under.find(deps.sql, { organizationId, parameterOf })
    if (owner !== undefined) {
      Object.assign(asked.var.wide, valuesOf(under.facts, owner))
      return { sql: deps.sql, deps, owner, userId }
    }
    throw new AppError('not_found', `Your organization has no such ${under.noun}.`)
  }

  /** Returns the row of a path. Raises `not_found`. */
  async function find(asked: Asked, asker: Asker): Promise<Found<Owner, Row>> {
    const call = await open(asked, asker)
    const id = asked.req.param(parameter) ?? ''
    const row = isId(idKind, id) ? await verbs.find(call, id) : undefined
    if (row !== undefined) return { call, row }
    throw new AppError('not_found', `This ${under.noun} has no such ${noun}.`)
  }

  return { open, find }
}

/** Creates the verbs that change rows, each with its one entry of the audit. */
export function createChanges<Owner, Given, Row extends Given & Identified, Of extends Fields>(
  declaration: Declaration<Owner, Given, Row, Of>,
  { sql }: WebDeps,
) {
  const { kind, verbs, actions } = declaration
  const audited = createAudited(sql)
  const entry = (past: string, row: Row, change?: Pick<AuditEntry, 'before' | 'after'>) => ({
    action: `${kind}_${past}`,
    target: { kind, id: row.id, name: declaration.name(row) },
    ...change,
  })

  return {
    async create(acting: Acting, call: Call<Owner>, values: Values<Of>) {
      const given = await verbs.read(call, values)
      return audited(
        acting,
        (tx) => verbs.create({ ...call, sql: tx }, given),
        ({ row }) => entry('created', row, { after: factsOf(declaration, given) }),
      )
    },

    async change(acting: Acting, { call, row }: Found<Owner, Row>, values: Values<Of>) {
      requireFixed(declaration, values, row)
      const given = await verbs.read(call, values)
      const [before, after] = [row, given].map((each) => factsOf(declaration, each))
      const change = (tx: Transaction) => verbs.change({ ...call, sql: tx }, row, given)
      return audited(acting, change, entry('changed', row, { before, after }))
    },

    async remove(acting: Acting, { call, row }: Found<Owner, Row>): Promise<void> {
      const remove = (tx: Transaction) => verbs.remove({ ...call, sql: tx }, row)
      await audited(acting, remove, entry('deleted', row))
    },

    /** Does one of the actions. */
    async act(acting: Acting, { call, row }: Found<Owner, Row>, name: string): Promise<Outcome> {
      const action = actions[name]
      if (!action) throw new AppError('not_found', `There is no action ${name}.`)
      const act = (tx: Transaction) => action.does({ ...call, sql: tx }, row)
      return (await audited(acting, act, entry(action.past, row))) ?? {}
    },
  }
}

const isId = (kind: 'number' | 'uuid', id: string): boolean =>
  kind === 'uuid' ? UUID.test(id) : NUMBER.test(id) && Number(id) <= NUMBER_MAX
