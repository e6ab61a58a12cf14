import { text } from 'node:stream/consumers'
import { OPERATOR, writeAudit } from '../platform/audit/audit.ts'
import {
  confirmErasure,
  createErasure,
  findErasure,
  listErasures,
  withdrawErasure,
} from '../platform/erasures/erasures.ts'
import type { Erasure } from '../platform/erasures/erasures.ts'
import { createNeedleSeals, NEEDLE_KINDS, readNeedle } from '../platform/erasures/needle.ts'
import { getOrganizationByName } from '../platform/people/organizations.ts'
import type { Database, Transaction } from '../shared/postgres/database.ts'
import { AppError } from '../shared/errors.ts'
import { readEnv } from '../shared/env.ts'
import type { EnvSource } from '../shared/env.ts'
import { createLog } from '../shared/log.ts'
import { databaseAddress } from '../shared/postgres/address.ts'
import { sealingKeysEnv, tasksEnv } from './env.ts'
import { holdsEnv, manageHolds } from './holds.ts'
import { withMigratedDatabase } from './migrate.ts'

const WAIT_SECONDS = 5
const USE =
  'Use: erasures ORGANIZATION list, plan NAME text|user|attribute, confirm ID or withdraw ID. ' +
  'What a plan looks for is read from the standard input, so that no history of a shell has it.'

interface Task {
  readonly args: readonly string[]
  /** SECRET_KEY_BASE, and the one before. */
  readonly keys: { readonly current?: string | undefined; readonly previous?: string | undefined }
  readonly readInput: () => Promise<string>
  readonly print: (line: string) => void
}

const OF_SHELL = {
  print: (line: string): void => void process.stdout.write(`${line}\n`),
  readInput: () => text(process.stdin),
}

/** The tasks of erasures and of legal holds, by their names. */
export const ERASURE_TASKS = {
  erasures: {
    summary:
      'ORGANIZATION list|plan NAME KIND|confirm ID|withdraw ID: erase a person, named on stdin',
    run(source: EnvSource, args: readonly string[]): Promise<void> {
      const given = readEnv(sealingKeysEnv, source)
      const keys = { current: given.SECRET_KEY_BASE, previous: given.SECRET_KEY_BASE_PREVIOUS }
      return useDatabase(source, (sql) => manageErasures(sql, { ...OF_SHELL, args, keys }))
    },
  },
  holds: {
    summary:
      'ORGANIZATION list|add NAME KIND [VALUE]|lift ID: keep data; a text is read from stdin',
    run(source: EnvSource, args: readonly string[]): Promise<void> {
      const config = readEnv(holdsEnv, source)
      return useDatabase(source, (sql) => manageHolds(sql, { ...OF_SHELL, args, config }))
    },
  },
}

function useDatabase(source: EnvSource, use: (sql: Database) => Promise<void>): Promise<void> {
  const env = readEnv(tasksEnv, source)
  const log = createLog({ name: 'tasks', level: env.LOG_LEVEL })
  const waitMs = (env.DATABASE_WAIT_SECONDS ?? WAIT_SECONDS) * 1000
  return withMigratedDatabase({ address: databaseAddress(env), waitMs, config: env, log }, use)
}

/**
 * Lists, plans, confirms and withdraws erasures of an organization, as its page does. Raises
 * `invalid_request`, `not_found` and what the verbs raise.
 */
async function manageErasures(sql: Database, task: Task): Promise<void> {
  const [organization = '', verb = '', first = '', kind] = task.args
  if (!['list', 'plan', 'confirm', 'withdraw'].includes(verb))
    throw new AppError('invalid_request', USE)
  const { id: organizationId } = await getOrganizationByName(sql, organization)
  if (verb === 'list') {
    for (const each of await listErasures(sql, organizationId)) task.print(describe(each))
    return
  }
  if (verb === 'plan') {
    const planned = await plan(sql, task, { organizationId, name: first, kind })
    task.print(planned.id)
    return
  }
  const isId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(first)
  const found = isId ? await findErasure(sql, { id: first, organizationId }) : undefined
  if (!found) throw new AppError('not_found', `${organization} has no erasure "${first}". ${USE}`)
  await sql.begin(async (tx) => {
    if (verb === 'confirm') await confirmErasure(tx, found, OPERATOR.name)
    else await withdrawErasure(tx, found)
    await record(tx, found, verb === 'confirm' ? 'confirmed' : 'withdrawn')
  })
}

async function plan(
  sql: Database,
  { keys: { current, previous }, readInput }: Task,
  given: { readonly organizationId: number; readonly name: string; readonly kind?: string },
): Promise<Erasure> {
  const { organizationId } = given
  const name = given.name.trim()
  const kind = NEEDLE_KINDS.find((each) => each === given.kind)
  if (!kind || name === '' || name.length > 100) throw new AppError('invalid_request', USE)
  if (current === undefined)
    throw new AppError('invalid_configuration', 'SECRET_KEY_BASE is required and not set.')
  const needle = readNeedle({ name, kind, value: await readInput() })
  const seals = createNeedleSeals(current, previous)
  return sql.begin(async (tx) => {
    const by = { seals, organizationId, createdBy: OPERATOR.name }
    const created = await createErasure(tx, by, { name, needle })
    await record(tx, created, 'created')
    return created
  })
}

const record = (tx: Transaction, { id, name, kind, organizationId }: Erasure, past: string) =>
  writeAudit(tx, OPERATOR, {
    action: `erasure_${past}`,
    organizationId,
    target: { kind: 'erasure', id, name },
    ...(past === 'created' && { after: { name, kind } }),
  })

const describe = ({ id, name, state, found, problem }: Erasure): string =>
  [
    `${id}  ${state}  ${name}`,
    ...found.map(
      (each) => `  ${each.kind}: ${each.found}, ${each.erased} erased, ${each.held} held`,
    ),
    ...(problem === null ? [] : [`  ${problem}`]),
  ].join('\n')
