import { isUuid } from '../automations/automations.ts'
import { AppError } from '../../shared/errors.ts'
import { inTransaction } from '../../shared/postgres/database.ts'
import type { Queryable } from '../../shared/postgres/database.ts'
import { readTraceQuery } from '../../shared/trace-answers/measures.ts'
import { readRunQuery } from '../runs/run-terms.ts'
import { WATCHES } from './watches.ts'
import type { Watched } from './watches.ts'

/** The most alerts that one organization has. */
export const ALERTS_MAX = 100
/** The time for which a press of the button silences one. */
export const SILENCE_HOURS = 24
const CHANGES_DAYS = 90
const BATCH_SIZE = 1000

/** The states of an alert. */
type AlertState = 'ok' | 'firing'

/** What is said of an alert. */
export interface AlertFields {
  readonly name: string
  readonly watches: Watched
  /** The slug of an automation; null: all of the organization together. */
  readonly automation: string | null
  readonly deploymentId: number | null
  readonly windowMinutes: number
  /** The runs, or traces, that count, in the language of query boxes; empty: all. */
  readonly filter: string
  /** It fires at this value or a higher one, in the unit of what it watches. */
  readonly threshold: number
  /** It is resolved below this one; null: below the same. */
  readonly resolvesBelow: number | null
  /** For so long the value has to be there before it fires. */
  readonly forMinutes: number
  /** The runs, or traces, without which it says nothing. */
  readonly minimum: number
  /** Addresses of members. */
  readonly mail: readonly string[]
}

/** A rule over the runs or traces of an organization, and what the last look at it found. */
export interface Alert extends AlertFields {
  readonly id: string
  readonly organizationId: number
  readonly silencedUntil: Date | null
  readonly state: AlertState
  /** null: it was never another one. */
  readonly changedAt: Date | null
  /** null: there was nothing to find. */
  readonly value: number | null
  readonly samples: number
  readonly lookedAt: Date | null
}

/** Names an alert of an organization. */
type AlertKey = Pick<Alert, 'id' | 'organizationId'>

const columns = (sql: Queryable) => sql`
  a.id, a.organization_id, a.deployment_id, a.name, a.watches, a.window_minutes, a.filter,
  a.threshold, a.resolves_below, a.for_minutes, a.minimum, a.mail, a.state,
  a.changed_at, a.value, a.samples, a.looked_at,
  case when a.silenced_until > now() then a.silenced_until end as silenced_until,
  (select slug from deployments where id = a.deployment_id) as automation`

/** Returns the alerts of an organization by name. */
export const listAlerts = (sql: Queryable, organizationId: number): Promise<Alert[]> =>
  sql<Alert[]>`
    select ${columns(sql)} from alerts a
    where a.organization_id = ${organizationId} order by a.name, a.id`

/** Returns an alert; undefined for one of another organization. */
export async function findAlert(
  sql: Queryable,
  { id, organizationId }: AlertKey,
): Promise<Alert | undefined> {
  if (!isUuid(id)) return undefined
  const [found] = await sql<Alert[]>`
    select ${columns(sql)} from alerts a
    where a.id = ${id} and a.organization_id = ${organizationId}`
  return found
}

/** Returns the fields of an alert as they are kept. Raises `unprocessable`. */
export async function readAlert(
  sql: Queryable,
  organizationId: number,
  fields: Omit<AlertFields, 'deploymentId'>,
): Promise<AlertFields> {
  const { automation, threshold, resolvesBelow, watches } = fields
  const filter = fields.filter.trim()
  const mail = [...new Set(fields.mail.map((address) => address.toLowerCase()))]
  const [{ strangers, deploymentId }] = await sql<
    [{ strangers: string[]; deploymentId: number | null }]
  >`
    select array(
        select unnest(${mail}::text[]) except
        select u.email from users u join memberships m on m.user_id = u.id
        where m.organization_id = ${organizationId}) as strangers,
      (select id from deployments where organization_id = ${organizationId}
        and slug = ${automation} and tests_project_id is null) as deployment_id`
  const [stranger] = strangers
  const problem =
    automation !== null && deploymentId === null
      ? `Your organization has no automation with the slug "${automation.slice(0, 100)}".`
      : stranger !== undefined
        ? `"${stranger.slice(0, 100)}" is not the address of a member of your organization.`
        : resolvesBelow !== null && resolvesBelow > threshold
          ? 'It must be resolved below a value that is not above the one at which it fires.'
          : (tracesProblem(watches, automation) ??
            filterProblem(watches, filter) ??
            unitProblem(WATCHES[watches].unit, [threshold, resolvesBelow ?? threshold]))
  if (problem !== undefined) throw new AppError('unprocessable', problem)
  return { ...fields, filter, deploymentId, mail }
}

const tracesProblem = (watches: Watched, automation: string | null): string | undefined =>
  automation === null || WATCHES[watches].of !== 'traces'
    ? undefined
    : 'Traces of other programs are of no automation: leave it out, and filter them by service.'

/** Looks over windows of time, so that days are no part of it, nor texts of so many runs. */
function filterProblem(watches: Watched, filter: string): string | undefined {
  if (filter === '') return undefined
  const { of } = WATCHES[watches]
  if (of === 'rest') return 'What it watches is not of runs, and takes no filter.'
  if (watches === 'trace_failed_scores') {
    return 'What it watches takes no filter: the rule by which traces are scored has a service.'
  }
  const { terms, text, problem } = of === 'runs' ? readRunQuery(filter) : readTraceQuery(filter)
  if (problem !== undefined) return `The filter is not valid: ${problem}.`
  if (text !== '') return `The filter must have keys only, not the text "${text.slice(0, 100)}".`
  return !('since' in terms || 'until' in terms) || (terms.since ?? terms.until) === undefined
    ? undefined
    : 'The filter must not have days: an alert looks back over its window.'
}

function unitProblem(unit: string, values: readonly number[]): string | undefined {
  if (unit === '%' && values.some((value) => value > 100)) {
    return 'It must fire at 100 % at the most.'
  }
  const isWhole = unit === 'USD' || values.every(Number.isInteger)
  return isWhole ? undefined : 'Only dollars have decimals: the values must be whole numbers.'
}

const toRow = (fields: AlertFields) => ({
  deploymentId: fields.deploymentId,
  name: fields.name,
  watches: fields.watches,
  windowMinutes: fields.windowMinutes,
  filter: fields.filter,
  threshold: fields.threshold,
  resolvesBelow: fields.resolvesBelow,
  forMinutes: fields.forMinutes,
  minimum: fields.minimum,
  mail: [...fields.mail],
})

/** Creates an alert. Raises `conflict` when the organization has as many as it may. */
export async function createAlert(
  sql: Queryable,
  organizationId: number,
  fields: AlertFields,
): Promise<Alert> {
  return inTransaction(sql, async (tx) => {
    await tx`select from organizations where id = ${organizationId} for no key update`
    const [{ count }] = await tx<[{ count: number }]>`
      select count(*)::int as count from alerts where organization_id = ${organizationId}`
    if (count >= ALERTS_MAX) {
      throw new AppError(
        'conflict',
        `An organization has at most ${ALERTS_MAX} alerts. Delete one that is no longer used.`,
      )
    }
    const [created] = await tx<[Alert]>`
      with a as (insert into alerts ${tx({ ...toRow(fields), organizationId })} returning *)
      select ${columns(tx)} from a`
    return created
  })
}

/** Changes an alert; it keeps its state until the next look. Returns false when there is none. */
export async function updateAlert(
  sql: Queryable,
  { id, organizationId }: AlertKey,
  fields: AlertFields,
): Promise<boolean> {
  const { count } = await sql`
    update alerts set ${sql(toRow(fields))}, revision = revision + 1, breached_since = null,
      looked_at = null
    where id = ${id} and organization_id = ${organizationId}`
  return count > 0
}

/** Deletes an alert with its changes of state. */
export async function deleteAlert(
  sql: Queryable,
  { id, organizationId }: AlertKey,
): Promise<boolean> {
  const { count } = await sql`
    delete from alerts where id = ${id} and organization_id = ${organizationId}`
  return count > 0
}

/** Lets an alert keep its state, and say nothing, for some hours; 0: it is looked at again. */
export async function silenceAlert(sql: Queryable, { id }: AlertKey, hours: number): Promise<void> {
  await sql`
    update alerts set silenced_until = now() + make_interval(hours => ${hours}),
      revision = revision + 1, breached_since = null
    where id = ${id}`
}

/** A change of the state of an alert, with the worst runs or traces. */
export interface AlertChange {
  readonly id: string
  readonly state: AlertState
  readonly at: Date
  readonly value: number
  readonly samples: number
  readonly watches: Watched
  readonly threshold: number
  readonly runs: readonly AlertExample[]
}

/** A run, or a trace of another program, that an alert names. */
export type AlertExample =
  | { readonly kickoff_id: string; readonly automation_id: string }
  | { readonly trace_id: string; readonly kickoff_id?: never; readonly automation_id?: never }

const CHANGES_SHOWN = 50

/** Returns the last changes of state of an alert, newest first. */
export const listAlertChanges = (sql: Queryable, { id }: AlertKey): Promise<AlertChange[]> =>
  sql<AlertChange[]>`
    select id, state, at, value, samples, watches, threshold, runs
    from alert_changes where alert_id = ${id} order by at desc, id limit ${CHANGES_SHOWN}`

/** Deletes one batch of changes that are too old, with their mails. Returns how many. */
export async function deleteExpiredChanges(sql: Queryable): Promise<number> {
  const { count } = await sql`
    delete from alert_changes where id in (
      select id from alert_changes where at < now() - make_interval(days => ${CHANGES_DAYS})
      limit ${BATCH_SIZE})`
  return count
}
