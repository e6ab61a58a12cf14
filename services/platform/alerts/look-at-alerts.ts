import { randomUUID } from 'node:crypto'
import type { PendingQuery, Row } from 'postgres'
import type { Database, Queryable, Transaction } from '../../shared/postgres/database.ts'
import type { Price } from '../../shared/prices/price-table.ts'
import type { Alert } from './alerts.ts'
import { listWorstRuns, measureAlerts } from './measure-alerts.ts'
import { listWorstTraces, measureTraceAlerts } from './measure-trace-alerts.ts'
import type { MeasureTraces } from './measure-trace-alerts.ts'
import { nextStanding } from './next-standing.ts'
import type { Found, Standing } from './next-standing.ts'
import { priceRuns } from './run-costs.ts'
import { WATCHED, WATCHES, withUnit } from './watches.ts'

/** Any numbers that nothing else locks: one worker at a time looks. */
const LOCK = 7_310_452_153
const TRACES_LOCK = 7_310_452_154
/** The shortest time between two looks at a rule; a long window is looked at less often. */
const STEP_SECONDS = 60
const LOOKS_PER_WINDOW = 96
/** More changes than these are left to the next look. */
const CHANGES_MAX = 20
const NOTHING: Found = { value: null, samples: 0 }

type Rule =
  | 'watches'
  | 'organizationId'
  | 'windowMinutes'
  | 'filter'
  | 'threshold'
  | 'resolvesBelow'
  | 'forMinutes'
  | 'minimum'

interface DueAlert extends Standing, Pick<Alert, 'id' | 'name' | Rule> {
  readonly revision: number
  readonly automationId: string | null
}

/** A part of the alerts, which is looked at by itself. */
interface Part {
  readonly lock: number
  readonly isOfTraces: boolean
  /** Returns what was found by the ids of alerts, or how much was done before that can be. */
  measure(tx: Transaction, due: readonly DueAlert[], at: Date): Promise<Measured>
  listWorst(tx: Transaction, alerts: readonly DueAlert[], at: Date): Promise<Worst>
}

type Measured = ReadonlyMap<string, Found> | number
type Worst = ReadonlyMap<string, unknown>

/**
 * Looks at the alerts for which it is time, and tells people and webhooks of those whose state
 * changes: the state, the row that says so and the messages are one transaction. Returns how many
 * changed; 0 also while another worker is at it. While many runs are to be priced for them, it
 * returns how many it priced, and looks the next time.
 */
export async function lookAtAlerts(
  sql: Database,
  {
    prices = [],
    at = null,
  }: { readonly prices?: readonly Price[]; readonly at?: Date | null } = {},
): Promise<number> {
  return lookAt(sql, at, {
    lock: LOCK,
    isOfTraces: false,
    async measure(tx, due, now) {
      const { priced, isAll } = await priceRuns(tx, due, { prices, at: now })
      return isAll ? measureAlerts(tx, due, now) : priced
    },
    listWorst: listWorstRuns,
  })
}

/**
 * Looks at those over traces that other programs sent, as `lookAtAlerts` does at the others: a
 * collector that does not answer holds up no other alert. Raises what `measure` raises.
 */
export const lookAtTraceAlerts = (
  sql: Database,
  { measure, at = null }: { readonly measure: MeasureTraces; readonly at?: Date | null },
): Promise<number> =>
  lookAt(sql, at, {
    lock: TRACES_LOCK,
    isOfTraces: true,
    measure: (tx, due, now) => measureTraceAlerts(tx, due, { measure, at: now }),
    listWorst: (tx, alerts, now) => listWorstTraces(tx, alerts, { measure, at: now }),
  })

function lookAt(sql: Database, at: Date | null, part: Part): Promise<number> {
  return sql.begin(async (tx) => {
    const [{ isOurs, now }] = await tx<[{ isOurs: boolean; now: Date }]>`
      select pg_try_advisory_xact_lock(${part.lock}) as is_ours,
        coalesce(${at}::timestamptz, now()) as now`
    const due = isOurs ? await listDue(tx, part, now) : []
    if (due.length === 0) return 0
    const found = await part.measure(tx, due, now)
    if (typeof found === 'number') return found
    const looks = due.map((alert) => {
      const seen = found.get(alert.id) ?? NOTHING
      return { alert, seen, next: nextStanding(alert, alert, { ...seen, at: now }) }
    })
    const same = looks.filter(({ alert, next }) => alert.state === next.state)
    const changed = looks.filter(({ alert, next }) => alert.state !== next.state)
    const told = await withMessages(tx, { part, at: now }, changed.slice(0, CHANGES_MAX))
    await keepLooks(tx, now, [...same, ...told])
    return told.length
  })
}

/** A time that went back is another step as well. */
const isDue = (sql: Queryable, at: PendingQuery<Row[]>) => sql`
  (a.silenced_until is null or a.silenced_until <= ${at})
    and (a.looked_at is null or floor(extract(epoch from a.looked_at) / step.seconds)
      <> floor(extract(epoch from ${at}) / step.seconds))`

const steps = (sql: Queryable) => sql`
  cross join lateral (
    select greatest(${STEP_SECONDS}, a.window_minutes * 60 / ${LOOKS_PER_WINDOW}) as seconds) step`

/** One that a newer version made may watch what is not known here: it is of no part. */
const isOfPart = (sql: Queryable, { isOfTraces }: Pick<Part, 'isOfTraces'>) => sql`
  a.watches in ${sql(WATCHED.filter((name) => (WATCHES[name].of === 'traces') === isOfTraces))}`

const hasDue = (sql: Queryable, part: Pick<Part, 'isOfTraces'>) => sql`
  exists (
    select from alerts a ${steps(sql)}
    where ${isDue(sql, sql`now()`)} and ${isOfPart(sql, part)})`

/** Holds while it is time to look at an alert that is not over traces. */
export const hasDueAlerts = (sql: Queryable) => hasDue(sql, { isOfTraces: false })

/** Holds while it is time to look at one over traces. */
export const hasDueTraceAlerts = (sql: Queryable) => hasDue(sql, { isOfTraces: true })

const listDue = (tx: Transaction, part: Part, at: Date) => tx<DueAlert[]>`
  select a.id, a.organization_id, a.name, a.watches, a.window_minutes, a.filter,
    a.threshold, a.resolves_below, a.for_minutes, a.minimum, a.state, a.breached_since, a.revision,
    d.automation_id
  from alerts a left join deployments d on d.id = a.deployment_id ${steps(tx)}
  where ${isDue(tx, tx`${at}::timestamptz`)} and ${isOfPart(tx, part)}`

interface Look {
  readonly alert: DueAlert
  readonly seen: Found
  readonly next: Standing
}

async function withMessages(
  tx: Transaction,
  { part, at }: { readonly part: Part; readonly at: Date },
  looks: readonly Look[],
) {
  if (looks.length === 0) return []
  const worst = await part.listWorst(
    tx,
    looks.map(({ alert }) => alert),
    at,
  )
  return looks.map((look) => {
    const runs = worst.get(look.alert.id) ?? []
    return { ...look, change: { id: randomUUID(), runs, message: messageOf(look, runs, at) } }
  })
}

/** Returns the message of a webhook: with a text, for those who show no more. */
function messageOf({ alert, seen, next }: Look, worst: unknown, at: Date) {
  const isOfTraces = WATCHES[alert.watches].of === 'traces'
  const { name, watches, threshold } = alert
  const value = seen.value ?? 0
  const isFiring = next.state === 'firing'
  const found = seen.value === null ? 'there is nothing to measure' : withUnit(watches, value)
  return {
    type: isFiring ? 'alert_firing' : 'alert_resolved',
    timestamp: at.toISOString(),
    data: {
      alert_id: alert.id,
      alert: name,
      automation_id: alert.automationId,
      watches,
      value,
      unit: WATCHES[watches].unit,
      threshold,
      samples: seen.samples,
      text: `${isFiring ? 'Firing' : 'Resolved'}: ${name}. ${WATCHES[watches].label}: ${found}.`,
      ...(isOfTraces ? { runs: [], traces: worst } : { runs: worst }),
    },
  }
}

type Kept = Look & Partial<Awaited<ReturnType<typeof withMessages>>[number]>

/** Keeps nothing of a rule that was changed or deleted meanwhile. */
async function keepLooks(tx: Transaction, at: Date, looks: readonly Kept[]): Promise<void> {
  const rows = looks.map(({ alert: { id, revision, state: was }, seen, next, change }) => ({
    id,
    revision,
    was,
    ...seen,
    state: next.state,
    since: next.breachedSince,
    change: change?.id,
    runs: change?.runs,
    message: change?.message,
  }))
  await tx`
    with looks as materialized (
      select * from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as l (
        id uuid, revision int, was text, value float8, samples int, state text, since timestamptz,
        change uuid, runs jsonb, message jsonb)),
    kept as (
      update alerts a set value = l.value, samples = l.samples, looked_at = ${at},
        breached_since = l.since, state = l.state,
        changed_at = case when l.change is null then a.changed_at else ${at} end
      from looks l where a.id = l.id and a.revision = l.revision and a.state = l.was
      returning a.*, l.change, l.runs, l.message),
    changes as (
      insert into alert_changes (id, alert_id, state, at, value, samples, watches, threshold, runs)
      select change, id, state, ${at}, coalesce(value, 0), samples, watches, threshold, runs
      from kept where change is not null returning id),
    mails as (
      insert into alert_mails (change_id, user_id, due_at)
      select distinct on (k.change, u.email) k.change, u.id, now()
      from kept k join memberships m on m.organization_id = k.organization_id
      join users u on u.id = m.user_id and u.email = any(k.mail) and u.disabled_at is null
      where k.change is not null order by k.change, u.email, u.id)
    select line_up_webhook_message(w.id, k.id, k.message ->> 'type', k.message)
    from kept k cross join lateral (
      select distinct on (h.url) h.id from webhooks h join deployments d on d.id = h.deployment_id
      where d.organization_id = k.organization_id and d.id = coalesce(k.deployment_id, d.id)
        and h.run_id is null and h.event_types && array['*', k.message ->> 'type']
      order by h.url, h.created_at, h.id) w
    where k.change is not null`
}
