import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { AppError } from '../../shared/errors.ts'
import type { Queryable, Transaction } from '../../shared/postgres/database.ts'
import type { Automation } from '../automations/automations.ts'
import type { Starter } from '../runs/runs.ts'
import { BATCHES_MAX } from './batches.ts'
import { findInputFiles } from '../runs/input-files.ts'
import type { InputFile } from '../runs/input-files.ts'
import { fillInputs } from '../runs/prepare-inputs.ts'
import type { RowSizes } from './forecast.ts'
import { problemOf, readRows, refused } from './read-rows.ts'
import type { BatchRow, Problem, SentRows } from './read-rows.ts'

/** The batches of an organization that have rows which wait. */
const OPEN_MAX = 20
/** Inserted by one statement at the most. */
const PORTION_ROWS = 1000
const PORTION_CHARACTERS = 1_048_576

/** A batch that a caller asks for. */
export interface NewBatch extends SentRows {
  readonly automation: Pick<Automation, 'id' | 'organizationId' | 'projectVersionId'>
  readonly name: string
  /** The same key is the same batch, as long as that is there. */
  readonly idempotencyKey: string | undefined
  readonly starter: Starter
  /** Nothing is queued until it is resumed. */
  readonly isPaused: boolean
}

interface MadeBatch {
  readonly id: string
  readonly rows: number
  /** False for the one that has its key. */
  readonly isNew: boolean
}

/**
 * Stores a batch, whose rows workers put into the queue; nothing of it when a row is wrong. Returns
 * the earlier one when its key was used before. Raises what `readRows` raises,
 * `unprocessable` when the earlier one has other rows, and `conflict` when there are too many.
 */
export async function createBatch(tx: Transaction, batch: NewBatch): Promise<MadeBatch> {
  const { automation, content, format, keyName } = batch
  // One after the other, so that no two exceed what may be there.
  await tx`select from organizations where id = ${automation.organizationId} for no key update`
  const hash = createHash('sha256').update(`${format} ${keyName}\n`).update(content).digest()
  const earlier = await findEarlier(tx, batch, hash)
  if (earlier) return { ...earlier, isNew: false }
  await makeRoom(tx, automation)
  const id = await insertBatch(tx, batch, hash)
  const rows = await insertRows(tx, id, { ...batch, deploymentId: automation.id })
  await tx`
    update batches set rows = ${rows}, waiting = ${rows},
      next_at = case when not ${batch.isPaused} then now() end
    where id = ${id}`
  return { id, rows, isNew: true }
}

async function findEarlier(
  sql: Queryable,
  { automation, idempotencyKey }: NewBatch,
  hash: Buffer,
): Promise<Pick<MadeBatch, 'id' | 'rows'> | undefined> {
  const [earlier] = await sql<{ id: string; rows: number; contentSha256: Buffer }[]>`
    select id, rows, content_sha256 from batches
    where deployment_id = ${automation.id} and idempotency_key = ${idempotencyKey ?? null}`
  if (!earlier) return undefined
  const { id, rows, contentSha256 } = earlier
  if (contentSha256.equals(hash)) return { id, rows }
  throw new AppError(
    'unprocessable',
    'This Idempotency-Key was used with other rows. Use a new key for a new batch.',
  )
}

async function makeRoom(sql: Queryable, automation: NewBatch['automation']): Promise<void> {
  const [{ open }] = await sql<[{ open: number }]>`
    select count(*)::int as open from batches
    where organization_id = ${automation.organizationId} and waiting > 0`
  if (open >= OPEN_MAX) {
    throw new AppError(
      'conflict',
      `Your organization has ${open} batches with rows that wait, and ${OPEN_MAX} is the most. ` +
        'Wait for one of them, or stop it.',
    )
  }
  await sql`
    delete from batches b where id in (
      select id from batches where deployment_id = ${automation.id} and waiting = 0
      order by created_at desc, id offset ${BATCHES_MAX - OPEN_MAX}) and not batch_is_held(b)`
}

async function insertBatch(tx: Queryable, batch: NewBatch, hash: Buffer): Promise<string> {
  const { automation, name, idempotencyKey, starter } = batch
  const [{ id }] = await tx<[{ id: string }]>`
    insert into batches ${tx({
      organizationId: automation.organizationId,
      deploymentId: automation.id,
      versionId: automation.projectVersionId,
      name,
      idempotencyKey: idempotencyKey ?? null,
      contentSha256: hash,
      rows: 1,
      waiting: 1,
      trigger: starter.trigger,
      starterId: starter.id,
      starterName: starter.name,
    })} returning id`
  return id
}

/** Inserts rows as they are read, and returns how many. */
async function insertRows(tx: Queryable, batchId: string, sent: AutomationRows): Promise<number> {
  let count = 0
  for await (const portion of readPortions(tx, sent)) {
    const rows = portion.map((row, index) => ({ position: count + index + 1, ...row }))
    const files = rows.flatMap(({ position, files: ids }) => ids.map((id) => ({ position, id })))
    await tx`
      insert into batch_rows (batch_id, position, key, inputs)
      select ${batchId}, position, key, inputs::json
      from json_to_recordset(${JSON.stringify(rows)}::text::json)
        as r (position int, key text, inputs text)`
    if (files.length > 0) await keepRowFiles(tx, batchId, files)
    count += rows.length
  }
  return count
}

/** Keeps files as long as their rows wait. Raises `unprocessable` for one that was just deleted. */
async function keepRowFiles(
  tx: Queryable,
  batchId: string,
  files: readonly { readonly position: number; readonly id: string }[],
): Promise<void> {
  const { count } = await tx`
    insert into batch_row_files (batch_id, position, file_id)
    select ${batchId}, r.position, f.id
    from json_to_recordset(${JSON.stringify(files)}::text::json) as r (position int, id uuid)
    join (select id from input_files
      where id = any (${files.map(({ id }) => id)}::uuid[]) for key share) f on f.id = r.id`
  if (count === files.length) return
  throw new AppError('unprocessable', 'A file of the rows was deleted. Send it again.')
}

/** Rows for an automation, whose files they may name. */
interface AutomationRows extends SentRows {
  readonly deploymentId: number
}

/** Counts and measures rows, and checks all of them. Raises what `readRows` raises. */
export async function checkRows(
  sql: Queryable,
  sent: AutomationRows,
): Promise<{ readonly rows: number; readonly sizes: RowSizes }> {
  let [rows, smallest, largest] = [0, Infinity, 0]
  for await (const portion of readPortions(sql, sent)) {
    rows += portion.length
    for (const { inputs } of portion) {
      smallest = Math.min(smallest, inputs.length)
      largest = Math.max(largest, inputs.length)
    }
    // Other calls are answered meanwhile.
    await setImmediate()
  }
  return { rows, sizes: { smallest, largest } }
}

interface WrittenRow {
  readonly key: string
  /** JSON. */
  readonly inputs: string
  /** The ids of its files. */
  readonly files: readonly string[]
}

/** Reads rows in portions, with what is known of their files. Raises what `readRows` raises. */
async function* readPortions(
  sql: Queryable,
  sent: AutomationRows,
): AsyncGenerator<readonly WrittenRow[]> {
  for (const rows of portionsOf(readRows(sent))) {
    const ids = rows.flatMap(({ row }) => row.files.map(({ id }) => id))
    if (ids.length === 0) {
      yield rows.map(({ row: { key }, inputs }) => ({ key, inputs, files: [] }))
      continue
    }
    const found = await findInputFiles(sql, sent.deploymentId, [...new Set(ids)])
    const read = rows.map(({ row, inputs }) => withFiles(row, inputs, found))
    const problems = read.filter((each) => 'problem' in each)
    if (problems.length > 0) throw refused(problems)
    yield read.filter((each) => 'key' in each)
  }
}

function withFiles(
  { key, inputs: read, line, files: named }: BatchRow,
  inputs: string,
  found: ReadonlyMap<string, InputFile>,
): WrittenRow | Problem {
  if (named.length === 0) return { key, inputs, files: [] }
  try {
    const filled = fillInputs(read, named, found)
    return { key, inputs: JSON.stringify(filled.inputs), files: filled.files }
  } catch (thrown) {
    return problemOf(thrown, line)
  }
}

interface Written {
  readonly row: BatchRow
  readonly inputs: string
}

function* portionsOf(rows: Iterable<BatchRow>): Generator<readonly Written[]> {
  let portion: Written[] = []
  let characters = 0
  for (const row of rows) {
    const inputs = JSON.stringify(row.inputs)
    portion.push({ row, inputs })
    characters += inputs.length
    if (portion.length < PORTION_ROWS && characters < PORTION_CHARACTERS) continue
    yield portion
    portion = []
    characters = 0
  }
  if (portion.length > 0) yield portion
}
