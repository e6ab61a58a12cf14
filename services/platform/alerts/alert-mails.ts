import type { Queryable } from '../../shared/postgres/database.ts'
import type { AlertChange } from './alerts.ts'

/** Longer than a try takes: then another service may send the mail, under the same id. */
const LEASE_SECONDS = 60
const TAKEN_MAX = 10
const WAIT_SECONDS_MIN = 15
const WAIT_SECONDS_MAX = 3600
/** Together more than a day. */
const TRIES_MAX = 36
const PROBLEM_MAX = 1000

/** A mail that is to be sent. */
export interface AlertMail {
  readonly id: string
  /** null: the person is no member any more, or has no address. */
  readonly to: string | null
  readonly organization: string
  readonly at: Date
  readonly runs: AlertChange['runs']
  /** The change of state that it is about; null: a version that was taken back. */
  readonly change:
    | (Omit<AlertChange, 'id' | 'at' | 'runs'> & {
        readonly alertId: string
        readonly name: string
      })
    | null
  readonly rollback: {
    readonly projectId: number
    readonly project: string
    readonly number: number
    readonly text: string
  } | null
}

/** Takes a few mails that are due; two services never have the same one at a time. */
export const takeAlertMails = (sql: Queryable): Promise<AlertMail[]> => sql<AlertMail[]>`
  with taken as (
    update alert_mails set tries = tries + 1,
      due_at = now() + make_interval(secs => ${LEASE_SECONDS})
    where id in (
      select id from alert_mails where ended_at is null and due_at <= now()
      order by due_at limit ${TAKEN_MAX} for update skip locked)
    returning *)
  select t.id, o.name as organization, coalesce(c.at, r.at) as at, coalesce(c.runs, r.runs) as runs,
    case when a.id is not null then json_build_object('alertId', a.id, 'name', a.name,
      'state', c.state, 'value', c.value, 'samples', c.samples, 'watches', c.watches,
      'threshold', c.threshold) end as change,
    case when r.id is not null then json_build_object('projectId', p.id, 'project', p.name,
      'number', r.number, 'text', r.text) end as rollback,
    (select u.email from users u where u.id = t.user_id and u.disabled_at is null and exists (
      select from memberships where user_id = u.id and organization_id = o.id)) as to
  from taken t left join alert_changes c on c.id = t.change_id
  left join alerts a on a.id = c.alert_id
  left join release_rollbacks r on r.id = t.rollback_id left join projects p on p.id = r.project_id
  join organizations o on o.id = coalesce(a.organization_id, r.organization_id)
  order by at, t.id`

/** Stores that a mail was sent, or is not to be sent. */
export async function endAlertMail(sql: Queryable, id: string): Promise<void> {
  await sql`
    update alert_mails set ended_at = now(), problem = null where id = ${id} and ended_at is null`
}

/** Stores why a mail was not sent. It is tried again for more than a day, less and less often. */
export async function delayAlertMail(sql: Queryable, id: string, problem: string): Promise<void> {
  await sql`
    update alert_mails set problem = ${problem.slice(0, PROBLEM_MAX)},
      ended_at = case when tries >= ${TRIES_MAX} then now() end,
      due_at = now() + make_interval(
        secs => least(${WAIT_SECONDS_MIN} * 2 ^ least(tries, 20), ${WAIT_SECONDS_MAX}))
    where id = ${id} and ended_at is null`
}
