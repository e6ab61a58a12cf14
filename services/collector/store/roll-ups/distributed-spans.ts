import { setTimeout as delay } from 'node:timers/promises'
import { AppError } from '../../../shared/errors.ts'
import { quote } from '../../../shared/postgres/copy/copy-connection.ts'
import type { Session } from '../../../shared/postgres/copy/copy-connection.ts'
import { EARLIER_BATCH } from './earlier-traces.ts'
import { toArguments } from './notes.ts'
import type { TouchedTrace } from './notes.ts'
import { SPAN_COLUMNS } from './roll-up-statement.ts'

/** The tables that the statements of a turn read. */
interface TurnTables {
  readonly spans: string
  readonly resources: string
  /** Those that organizations entered. */
  readonly prices: string
}

/** Their own. */
export const STORED: TurnTables = {
  spans: 'spans',
  resources: 'resources',
  prices: 'organization_prices',
}
/** Copies of what a turn needs: Citus does not run its statements over rows of other nodes. */
export const COPIES: TurnTables = {
  spans: 'spans_of_turn',
  resources: 'resources_of_turn',
  prices: 'prices_of_turn',
}

const columns = ['trace_id', 'organization', ...SPAN_COLUMNS].join(', ')

/** Creates the copies, which are empty after each transaction. */
export const CREATE_COPIES = `
  create temp table ${COPIES.spans} on commit delete rows as
    select ${columns} from spans with no data;
  create index on ${COPIES.spans} (trace_id);
  create temp table ${COPIES.resources} on commit delete rows as
    select id, attributes from resources with no data;
  create index on ${COPIES.resources} (id);
  create temp table ${COPIES.prices} on commit delete rows as
    select * from ${STORED.prices} with no data;
  create index on ${COPIES.prices} (model)`

/** Returns whether the spans are on other nodes. */
export const hasDistributedSpans = async (session: Session): Promise<boolean> =>
  (await session.rows('select is_distributed()'))[0]?.[0] === 't'

/**
 * Copies all spans of these traces. To be called after their notes were taken: it waits until every
 * commit that a note may belong to has reached all nodes.
 */
export async function copySpansOf(
  session: Session,
  touched: readonly TouchedTrace[],
): Promise<void> {
  await awaitCommits(session)
  const { begins, ends } = await boundsOf(session, touched)
  await session.query(`
    with touched as materialized (select unnest(${arrayOf(touched, 'uuid')}) as trace_id)
    insert into ${COPIES.spans} select ${columns} from spans
    where trace_id in (select trace_id from touched)
      and start_time >= ${quote(begins)} and start_time <= ${quote(ends)}`)
  await session.query(`
    insert into ${COPIES.resources} select id, attributes from resources
    where id in (select resource_id from ${COPIES.spans})`)
  await session.query(`
    insert into ${COPIES.prices} select * from ${STORED.prices}
    where organization in (select organization from ${COPIES.spans})`)
}

const arrayOf = (touched: readonly TouchedTrace[], type: string): string =>
  `${quote(`{${touched.map(({ traceId }) => traceId).join(',')}}`)}::${type}[]`

/** The time in which all of these traces are, by their notes and by what was rolled up before. */
async function boundsOf(
  session: Session,
  touched: readonly TouchedTrace[],
): Promise<{ begins: string; ends: string }> {
  const first = touched.map(({ firstDay }) => firstDay).sort()[0] ?? ''
  const last =
    touched
      .map(({ lastDay }) => lastDay)
      .sort()
      .at(-1) ?? ''
  const [row] = await session.rows(`
    with touched (organizations, trace_ids, first_days, last_days) as (
      select ${toArguments(touched)}
    )
    select least(min(first_start), (${quote(first)}::date)::timestamp at time zone 'UTC'),
      greatest(max(last_start), (${quote(last)}::date + 1)::timestamp at time zone 'UTC')
    from touched, unnest(organizations::text[], trace_ids::uuid[]) as one (organization, trace_id)
    left join lateral (
      select first_start, last_start from traces
      where traces.organization = one.organization and traces.trace_id = one.trace_id
      offset 0
    ) as known on true`)
  return { begins: row?.[0] ?? '', ends: row?.[1] ?? '' }
}

const PAUSE_MS = 10
const PATIENCE_MS = 2000

/**
 * A commit of Citus becomes visible node by node. A note may be visible, and a span of it not yet:
 * its transaction is then prepared on the node of the span. Those that are prepared now are waited
 * for. Raises `unavailable` when that takes too long, as after the crash of a node: the turn is
 * taken again, and has nothing taken away until Citus has recovered the transaction.
 */
async function awaitCommits(session: Session): Promise<void> {
  const giveUpAt = performance.now() + PATIENCE_MS
  let pending = await listPrepared(session)
  const known = new Set(pending)
  while (pending.some((gid) => known.has(gid))) {
    if (performance.now() > giveUpAt) {
      const message = `${pending.length} commits have not reached all nodes of Citus yet.`
      throw new AppError('unavailable', message)
    }
    await delay(PAUSE_MS)
    pending = await listPrepared(session)
  }
}

const LIST_PREPARED = `
  select success, result from run_command_on_workers($$
    select coalesce(string_agg(gid, ','), '') from pg_prepared_xacts
    where database = current_database() and gid like 'citus\\_%'
  $$)`

async function listPrepared(session: Session): Promise<string[]> {
  const nodes = await session.rows(LIST_PREPARED)
  return nodes.flatMap(([success, result]) => {
    if (success !== 't') throw new AppError('unavailable', 'A node of Citus does not answer.')
    return (result ?? '').split(',').filter((gid) => gid !== '')
  })
}

/** Copies the spans of the traces that `noteEarlierTraces` looks at next. */
export async function copyEarlierSpans(session: Session): Promise<void> {
  const [row] = await session.rows(`
    select day, coalesce(after_trace, '00000000-0000-0000-0000-000000000000')
    from days_to_roll_up where due_at <= now() order by day desc, due_at limit 1`)
  const [day, done] = row ?? []
  if (!day || !done) return
  const insert = `
    insert into ${COPIES.spans} (trace_id, organization, start_time)
    select trace_id, organization, start_time from spans
    where start_time >= ${quote(day)}::date::timestamp at time zone 'UTC'
      and start_time < (${quote(day)}::date + 1)::timestamp at time zone 'UTC'`
  await session.query(`${insert} and trace_id > ${quote(done)}
    order by trace_id limit ${EARLIER_BATCH}`)
  const [last] = await session.rows(
    `select trace_id from ${COPIES.spans} order by trace_id desc limit 1`,
  )
  // The limit may have cut off some of the last one's organizations.
  if (last?.[0]) await session.query(`${insert} and trace_id = ${quote(last[0])}`)
}
