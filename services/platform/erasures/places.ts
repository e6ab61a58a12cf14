import type { PendingQuery, Row } from 'postgres'
import { deleteCase } from '../evaluations/cases.ts'
import { stopRuns } from '../runs/runs.ts'
import type { Queryable, Transaction } from '../../shared/postgres/database.ts'

/** Items of one kind that are erased; no hold keeps any of them. */
export interface Chosen {
  readonly organizationId: number
  readonly items: readonly string[]
  /** What is looked for, as patterns of `like`. */
  readonly patterns: readonly string[]
  /** The database is restored, and nothing works on it: its runs get no receipts any more. */
  readonly isRestored: boolean
}

/** What a person's things are found by. */
export interface Sought {
  readonly patterns: readonly string[]
  readonly bytesPatterns: readonly string[]
  /** Those who start runs, such as `person:7`; none: it is a text. */
  readonly starters: readonly string[]
}

/** A kind of things that texts of people are in. */
export interface Place {
  readonly kind: string
  /** The tables, `t` among them, and the column that says whose a row is. */
  readonly from: string
  readonly organization: string
  /** What identifies a row, in the order in which rows are read. */
  readonly key: readonly (readonly [name: string, type: string])[]
  /** The id of a row. @default the key, with slashes between its parts */
  readonly item?: string
  /** What is read of a row, as a text. */
  readonly text: string
  /** The condition for a row of a person. @default its text has the one that is looked for */
  readonly isFound?: (sql: Queryable, sought: Sought) => PendingQuery<Row[]>
  /** The condition for a row that a hold keeps by its run or trace; texts are looked at anyway. */
  readonly isHeld?: string
  /** Rows that are read at a time. */
  readonly rows: number
  /** Returns those that are to be tried again later. */
  readonly erase: (tx: Transaction, chosen: Chosen) => Promise<readonly string[] | undefined>
}

/** Returns the SQL of the id of a row. */
export const itemOf = ({ key, item }: Place): string =>
  item ?? `concat_ws('/', ${key.map(([name]) => name).join(', ')})`

const OF_WEBHOOK = `webhook_messages t join webhooks w on w.id = t.webhook_id
  join deployments d on d.id = w.deployment_id`
const OF_TRIGGER = `trigger_deliveries t join triggers g on g.id = t.trigger_id
  join deployments d on d.id = g.deployment_id`

/** In the order of searching and of erasing: files are erased when no run names them any more. */
export const PLACES: readonly Place[] = [
  {
    kind: 'run',
    from: 'executions t',
    organization: 't.organization_id',
    key: [
      ['t.queued_at', 'timestamptz'],
      ['t.id', 'uuid'],
    ],
    item: 't.id',
    text: 't.id',
    isFound: (sql, { patterns, starters }) =>
      starters.length > 0
        ? sql`coalesce(t.starter_id = any (${starters}::text[]), false)`
        : sql`coalesce(run_mentions(t, ${patterns}::text[]), false)`,
    isHeld: 'is_held(t.organization_id, t.id)',
    rows: 50,
    erase: eraseRuns,
  },
  {
    kind: 'batch_row',
    from: 'batch_rows t join batches b on b.id = t.batch_id',
    organization: 'b.organization_id',
    key: [
      ['t.batch_id', 'uuid'],
      ['t.position', 'int'],
    ],
    text: `concat_ws(E'\\n', t.key, t.inputs)`,
    isHeld: 'batch_row_is_held(t)',
    rows: 2000,
    erase: eraseBatchRows,
  },
  {
    kind: 'file',
    from: 'input_files t',
    organization: 't.organization_id',
    key: [['t.id', 'uuid']],
    text: 't.name',
    // A text may go over the border of two parts.
    isFound: (sql, { patterns, bytesPatterns }) => sql`
      (lower(t.name) like any (${patterns}::text[]) or exists (
        select from input_file_parts p left join input_file_parts n
          on n.file_id = p.file_id and n.position = p.position + 1
        where p.file_id = t.id and lower(encode(
          p.content || coalesce(substr(n.content, 1, 2000), ''), 'escape'
        )) like any (${bytesPatterns}::text[])))`,
    isHeld: `(exists (select from run_files r
      where r.file_id = t.id and is_held(t.organization_id, r.run_id)) or exists (
        select from batch_row_files f join batch_rows r using (batch_id, position)
        where f.file_id = t.id and batch_row_is_held(r))
      or exists (select from case_files f join cases c on c.id = f.case_id
        where f.file_id = t.id and case_is_held(c)))`,
    rows: 10,
    // One that a run or a row of another person names is not this one's alone.
    erase: async (tx, { items, organizationId }) => {
      await tx`
      delete from input_files f where id = any (${items}::text[]::uuid[])
        and organization_id = ${organizationId}
        and not exists (select from run_files where file_id = f.id)
        and not exists (select from batch_row_files where file_id = f.id)`
      return undefined
    },
  },
  {
    kind: 'webhook_message',
    from: OF_WEBHOOK,
    organization: 'd.organization_id',
    key: [['t.id', 'bigint']],
    text: 't.payload',
    isHeld: 'is_held(d.organization_id, t.execution_id)',
    rows: 1000,
    erase: async (tx, { items }) => {
      await tx`delete from webhook_messages where id = any (${items}::text[]::bigint[])`
      return undefined
    },
  },
  {
    kind: 'trigger_delivery',
    from: OF_TRIGGER,
    organization: 'd.organization_id',
    key: [['t.id', 'bigint']],
    text: `concat_ws(E'\\n', t.delivery_id, t.headers, t.payload, t.problem)`,
    isHeld: 'is_held(d.organization_id, t.run_id)',
    rows: 1000,
    // The row stays: what is sent again under its id starts no other run.
    erase: async (tx, { items, patterns }) => {
      await tx`
      update trigger_deliveries set payload = null, headers = '{}', problem = null,
        delivery_id = case when lower(delivery_id) like any (${patterns}::text[])
          then 'erased-' || id else delivery_id end
      where id = any (${items}::text[]::bigint[])`
      return undefined
    },
  },
  {
    kind: 'case',
    from: 'cases t join case_sets s on s.id = t.set_id',
    organization: 's.organization_id',
    key: [['t.id', 'uuid']],
    text: `concat_ws(E'\\n', t.name, t.inputs, t.expected)`,
    isHeld: 'case_is_held(t)',
    rows: 500,
    async erase(tx, { items }) {
      const found = await tx<{ id: string; setId: string }[]>`
        select id, set_id from cases where id = any (${items}::text[]::uuid[]) order by set_id`
      for (const { id, setId } of found) await deleteCase(tx, { id: setId }, id)
      return undefined
    },
  },
  {
    kind: 'evaluation_run',
    from: 'evaluation_runs t join evaluations v on v.id = t.evaluation_id',
    organization: 'v.organization_id',
    key: [['t.id', 'uuid']],
    text: `concat_ws(E'\\n', t.reason, t.output, t.findings, t.tools)`,
    isHeld: 'result_is_held(t)',
    rows: 500,
    erase: async (tx, { items }) => {
      await tx`delete from evaluation_runs where id = any (${items}::text[]::uuid[])`
      return undefined
    },
  },
  {
    kind: 'replay_run',
    from: 'replay_runs t join replays r on r.id = t.replay_id',
    organization: 'r.organization_id',
    key: [
      ['t.replay_id', 'uuid'],
      ['t.run_id', 'uuid'],
    ],
    text: `concat_ws(E'\\n', t.reason, t.step, t.request, t.output)`,
    isHeld: 'is_held(r.organization_id, t.run_id)',
    rows: 500,
    erase: async (tx, { items }) => {
      await tx`
      delete from replay_runs where replay_id = any (${firsts(items)}::text[]::uuid[])
        and concat_ws('/', replay_id, run_id) = any (${items}::text[])`
      return undefined
    },
  },
  {
    kind: 'run_score',
    from: 'run_scores t',
    organization: 't.organization_id',
    key: [['t.run_id', 'uuid']],
    text: `concat_ws(E'\\n', t.reason, t.findings)`,
    isHeld: 'is_held(t.organization_id, t.run_id)',
    rows: 1000,
    // The row stays: a run is scored once.
    erase: async (tx, { items }) => {
      await tx`
      update run_scores set reason = null, findings = '[]'
      where run_id = any (${items}::text[]::uuid[])`
      return undefined
    },
  },
  {
    kind: 'proposal',
    from: 'version_proposals t',
    organization: 't.organization_id',
    key: [['t.id', 'uuid']],
    text: `concat_ws(E'\\n', t.request, t.definition, t.problems)`,
    rows: 200,
    // It goes with the runs of the Assistant, which are those of the internal organization.
    async erase(tx, { items, organizationId }) {
      const runs: Parameters<typeof stopRuns>[1] = tx`id in (
        select unnest(array[run_id, second_run_id]) from version_proposals
        where id = any (${items}::text[]::uuid[]) and organization_id = ${organizationId})`
      await stopRuns(tx, runs)
      await tx`delete from executions where ${runs}`
      return undefined
    },
  },
  {
    kind: 'note',
    from: 'trace_notes t',
    organization: 't.organization_id',
    key: [['t.id', 'bigint']],
    text: 't.note',
    isHeld: 'is_held(t.organization_id, t.trace_id)',
    rows: 1000,
    erase: async (tx, { items }) => {
      await tx`delete from trace_notes where id = any (${items}::text[]::bigint[])`
      return undefined
    },
  },
]

const firsts = (items: readonly string[]): string[] => items.map((item) => item.split('/')[0] ?? '')

/**
 * Deletes runs with all that hangs on them. Those that are not over are stopped, and deleted once
 * they have their leaf among the receipts.
 */
async function eraseRuns(
  tx: Transaction,
  { items, organizationId, isRestored }: Chosen,
): Promise<readonly string[]> {
  const chosen: Parameters<typeof stopRuns>[1] =
    tx`id = any (${items}::text[]::uuid[]) and organization_id = ${organizationId}`
  await stopRuns(tx, chosen)
  await tx`
    delete from executions e where ${chosen} and finished_at is not null and (
      ${isRestored} or exists (select from receipt_leaves l where l.run_id = e.id)
      or finished_at <= (select runs_until - interval '5 minutes' from receipt_log))`
  const left = await tx<{ id: string }[]>`select id from executions where ${chosen}`
  return left.map(({ id }) => id)
}

/** Rows keep their place in the batch; one that waits never starts a run. */
async function eraseBatchRows(tx: Transaction, { items }: Chosen): Promise<undefined> {
  const batches = tx`${firsts(items)}::text[]::uuid[]`
  const rows = tx`
    select batch_id, position, inputs is not null as is_waiting from batch_rows
    where batch_id = any (${batches})
      and concat_ws('/', batch_id, position) = any (${items}::text[])`
  // First the batch, as workers do that put its rows into the queue.
  await tx`select from batches where id = any (${batches}) order by id for update`
  await tx`
    update batches b set waiting = waiting - n, skipped = skipped + n,
      next_at = case when waiting > n then next_at end
    from (
      select batch_id, (count(*) filter (where is_waiting))::int as n from (${rows}) each
      group by batch_id) of_batch
    where b.id = of_batch.batch_id`
  await tx`
    delete from batch_row_files f using (${rows}) each
    where f.batch_id = each.batch_id and f.position = each.position`
  await tx`
    update batch_rows r set inputs = null, key = 'erased-' || r.position
    from (${rows}) each where r.batch_id = each.batch_id and r.position = each.position`
  return undefined
}
