import * as v from 'valibot'
import { OPERATOR, writeAudit } from '../platform/audit/audit.ts'
import { isUuid } from '../platform/automations/automations.ts'
import {
  createHold,
  findHold,
  HOLD_KINDS,
  liftHold,
  listHolds,
  readHold,
} from '../platform/erasures/legal-holds.ts'
import type { LegalHold } from '../platform/erasures/legal-holds.ts'
import { getOrganizationByName } from '../platform/people/organizations.ts'
import type { Database, Transaction } from '../shared/postgres/database.ts'
import { AppError } from '../shared/errors.ts'
import { httpUrl, optional, text } from '../shared/env.ts'
import { openTraceHolds } from '../shared/trace-holds.ts'
import type { TraceHolds } from '../shared/trace-holds.ts'

const USE =
  'Use: holds ORGANIZATION list, add NAME automation|run|trace|user VALUE, add NAME text or ' +
  'lift ID. A text is read from the standard input, so that no history of a shell has it.'
const NAME = /^[^\p{Cc}\p{Cs}]{1,100}$/u
const VALUE = /^[^\p{Cc}\p{Cs}]{1,500}$/u

/** The variables of the trace collector, as `web` has them. */
export const holdsEnv = v.object({
  COLLECTOR_URL: optional(httpUrl()),
  COLLECTOR_JWT_SECRET: optional(text(32)),
})

interface Task {
  readonly args: readonly string[]
  readonly config: v.InferOutput<typeof holdsEnv>
  readonly readInput: () => Promise<string>
  readonly print: (line: string) => void
}

/**
 * Lists, adds and lifts legal holds of an organization, as its page does. Raises `invalid_request`,
 * `not_found`, `invalid_configuration` and what the verbs raise.
 */
export async function manageHolds(sql: Database, task: Task): Promise<void> {
  const [organization = '', verb = '', ...given] = task.args
  if (!['list', 'add', 'lift'].includes(verb)) throw new AppError('invalid_request', USE)
  const { id: organizationId } = await getOrganizationByName(sql, organization)
  if (verb === 'add') return add(sql, task, { organizationId, given })
  if (verb === 'list') {
    for (const each of await listHolds(sql, organizationId)) task.print(describe(each))
    return
  }
  const [id = ''] = given
  const found = isUuid(id) ? await findHold(sql, { id, organizationId }) : undefined
  if (!found) throw new AppError('not_found', `${organization} has no hold "${id}". ${USE}`)
  const traces = openTraces(task, found)
  await sql.begin(async (tx) => {
    // Within the transaction: a hold whose traces could not be let go is still there.
    await liftHold(tx, found)
    await record(tx, found, 'lifted')
    await traces?.lift(organizationId, found.id)
  })
}

interface Given {
  readonly organizationId: number
  /** Behind the verb. */
  readonly given: readonly string[]
}

async function add(sql: Database, task: Task, { organizationId, given }: Given): Promise<void> {
  const [name = '', word, ...rest] = given
  const kind = HOLD_KINDS.find((each) => each === word)
  if (!kind || rest.length !== (kind === 'text' ? 0 : 1)) throw new AppError('invalid_request', USE)
  const value = kind === 'text' ? await task.readInput() : (rest[0] ?? '')
  const fields = { name: name.trim(), kind, value: value.trim() }
  if (!NAME.test(fields.name) || !VALUE.test(fields.value))
    throw new AppError(
      'invalid_request',
      'A name has 1 to 100 characters, and what is kept 1 to 500 in one line.',
    )
  const wanted = await readHold(sql, organizationId, fields)
  const created = await sql.begin(async (tx) => {
    const made = await createHold(tx, { organizationId, createdBy: OPERATOR.name }, wanted)
    await record(tx, made, 'created')
    return made
  })
  task.print(created.id)
}

/** Where the collector keeps traces of a hold, it has to let them go. */
function openTraces({ config }: Task, hold: LegalHold): TraceHolds | undefined {
  const { COLLECTOR_URL: collectorUrl, COLLECTOR_JWT_SECRET: secret } = config
  if (collectorUrl && secret) return openTraceHolds({ collectorUrl, secret })
  if (hold.appliedAt === null && hold.place === 0 && hold.after === null) return undefined
  throw new AppError(
    'invalid_configuration',
    'Traces are under this hold. Set COLLECTOR_URL and COLLECTOR_JWT_SECRET, as web has them, ' +
      'so that the collector lets them go.',
  )
}

const record = (tx: Transaction, hold: LegalHold, past: 'created' | 'lifted') => {
  const { id, name, kind, value, organizationId } = hold
  return writeAudit(tx, OPERATOR, {
    action: `legal_hold_${past}`,
    organizationId,
    target: { kind: 'legal_hold', id, name },
    [past === 'created' ? 'after' : 'before']: { name, kind, value },
  })
}

const describe = ({ id, name, kind, value, appliedAt, problem }: LegalHold): string =>
  [
    `${id}  ${kind}  ${name}: ${value}`,
    ...(appliedAt === null && problem === null ? ['  its traces are not under it yet'] : []),
    ...(problem === null ? [] : [`  ${problem}`]),
  ].join('\n')
