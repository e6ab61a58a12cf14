import { randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Automation } from '../../../../services/platform/automations/automations.ts'
import {
  confirmErasure,
  createErasure,
  findErasure,
  withdrawErasure,
} from '../../../../services/platform/erasures/erasures.ts'
import type { Erasure } from '../../../../services/platform/erasures/erasures.ts'
import {
  applyHolds,
  createHold,
  findHold,
  liftHold,
  readHold,
} from '../../../../services/platform/erasures/legal-holds.ts'
import type { HoldFields } from '../../../../services/platform/erasures/legal-holds.ts'
import { createNeedleSeals, readNeedle } from '../../../../services/platform/erasures/needle.ts'
import type { Needle } from '../../../../services/platform/erasures/needle.ts'
import {
  eraseRestored,
  performErasure,
} from '../../../../services/platform/erasures/perform-erasure.ts'
import type { PersonTraces } from '../../../../services/platform/erasures/perform-erasure.ts'
import { removeAutomation } from '../../../../services/platform/crews/automation-life.ts'
import { appendLeaves } from '../../../../services/platform/receipts/append-leaves.ts'
import { recordRequest, sweepContents } from '../../../../services/platform/runs/run-contents.ts'
import { deleteExpiredRuns } from '../../../../services/platform/runs/run-retention.ts'
import { kickoff } from '../../../../services/platform/runs/runs.ts'
import type { Database } from '../../../../services/shared/postgres/database.ts'
import { openTraceHolds } from '../../../../services/shared/trace-holds.ts'
import { manageHolds } from '../../../../services/tasks/holds.ts'
import { openPersonTraces } from '../../../../services/worker/start-erasures.ts'
import { seedAutomation } from '../../../support/platform.ts'
import { useDatabase } from '../../../support/use-database.ts'
import { createHarness, SECRET } from '../../collector/support/harness.ts'
import type { Harness } from '../../collector/support/harness.ts'
import {
  freshId,
  nanos,
  requestOf,
  spanOf,
  textAttribute,
  toProtobuf,
} from '../../collector/support/otlp.ts'
import { tenantOf } from '../../collector/support/tokens.ts'

const SEALS = createNeedleSeals('a'.repeat(32))
/** With letters beyond ASCII and a quote, which JSON writes in other ways. */
const PERSON = 'zoë"ada@example.com'
const OTHER = 'grace@example.com'

const main = useDatabase()
let harness: Harness
let traces: PersonTraces
let acme: Automation
let globex: Automation

beforeAll(async () => {
  acme = await seedAutomation(main.sql, { organization: 'Acme', slug: 'research' })
  globex = await seedAutomation(main.sql, { organization: 'Globex', slug: 'support' })
  harness = await createHarness()
  traces = openPersonTraces({ collectorUrl: harness.collector.url, secret: SECRET })
})
afterAll(() => harness.stop())

const organizationOf = ({ organizationId }: Automation) => tenantOf(harness, String(organizationId))

/** Sends a trace with a text, as large as asked; returns its id. */
async function sendTrace(of: Automation, text: string, traceId = freshId() + freshId()) {
  const large = textAttribute('gen_ai.prompt', `${'x'.repeat(9000)} ${text}`)
  const attributes = [textAttribute('user.id', text), large]
  const startTimeUnixNano = nanos(Date.now())
  await organizationOf(of).send(
    toProtobuf(requestOf(spanOf({ traceId, name: 'call', attributes, startTimeUnixNano }))),
  )
  await harness.rolledUp()
  return traceId
}

/** A run that has ended, and what may hang on one, each with the text. */
async function endRun(of: Automation, text: string, starterId = 'person:7'): Promise<string> {
  const { sql } = main
  const id = await kickoff(sql, { deploymentId: of.id, inputs: { mail: text } })
  const event = { type: 'log', text }
  await sql`
    insert into execution_events (execution_id, attempt, position, event)
    values (${id}, 1, 0, ${JSON.stringify(event)}::text::jsonb)`
  await sql`
    insert into run_payloads (run_id, step_key, content)
    values (${id}, 'a', ${JSON.stringify({ text })}::text::json)`
  await sql`
    insert into run_artifacts (run_id, name, task, content, size, left_out)
    values (${id}, 'report.md', 'write', ${text}, ${Buffer.byteLength(text)}, 0)`
  await sql`
    insert into run_approvals (run_id, step_key, task, proposed, decide_by)
    values (${id}, 'b', 'write', ${text}, now())`
  await sql`
    update executions set status = 'completed', output = ${text}, starter_id = ${starterId},
      started_at = now(), finished_at = now() where id = ${id}`
  return id
}

/** A run whose record of what a model was asked has the text, and nothing else of it. */
async function askModel(of: Automation, text: string): Promise<string> {
  const { sql } = main
  const id = await kickoff(sql, { deploymentId: of.id, inputs: {} })
  const known = new Set<string>()
  const messages = [{ role: 'user', content: `Write to ${text}.` }]
  const record = recordRequest({ model: 'tiny', messages }, known)
  for (const { address, previous, content } of record.parts)
    await sql`
      insert into run_contents (day, organization_id, address, previous, content)
      values (content_day(${id}), ${of.organizationId}, ${Buffer.from(address, 'hex')},
        ${previous === undefined ? null : Buffer.from(previous, 'hex')},
        ${Buffer.from(content, 'base64')})`
  await sql`
    insert into run_steps (run_id, step_key, position, kind, name, path, state, attempt, started_at,
      ended_at, request, result)
    values (${id}, 'a', 0, 'llm', 'tiny', '[]', 'finished', 1, now(), now(),
      ${Buffer.from(record.address, 'hex')}, '"fine"')`
  await sql`
    update executions set status = 'completed', output = '', finished_at = now() where id = ${id}`
  return id
}

/** Things of a person beside runs. */
async function leaveThings(of: Automation, text: string): Promise<void> {
  const { sql } = main
  const { organizationId, id: deploymentId, projectVersionId: versionId } = of
  const owner = { organizationId, deploymentId }
  const name = randomUUID()
  const [webhook, trigger, set, batch, file] = [1, 2, 3, 4, 5].map(() => randomUUID())
  const json = JSON.stringify({ mail: text })
  await sql`
    insert into webhooks (id, deployment_id, url, event_types, sealed_key)
    values (${webhook ?? ''}, ${deploymentId}, 'https://crm.example.com', '{*}', '')`
  await sql`
    insert into webhook_messages (webhook_id, execution_id, type, payload)
    values (${webhook ?? ''}, gen_random_uuid(), 'x', ${json}::text::jsonb)`
  await sql`
    insert into triggers (id, deployment_id, name, scheme, inputs)
    values (${trigger ?? ''}, ${deploymentId}, 'events', 'none', '{}')`
  await sql`
    insert into trigger_deliveries (trigger_id, delivery_id, state, headers, payload)
    values (${trigger ?? ''}, ${text}, 'skipped', ${json}::text::jsonb, ${json}::text::jsonb)`
  await sql`
    insert into case_sets (id, organization_id, deployment_id, name, checks, size)
    values (${set ?? ''}, ${organizationId}, ${deploymentId}, ${name}, '[]', 1)`
  await sql`
    insert into cases (set_id, name, inputs) values (${set ?? ''}, ${text}, ${json}::text::jsonb)`
  await sql`
    insert into batches ${sql({
      ...owner,
      id: batch,
      versionId,
      name,
      contentSha256: Buffer.alloc(32),
      rows: 2,
      waiting: 2,
      trigger: 'api',
      starterId: 'person:7',
      starterName: 'a member',
      nextAt: new Date(0),
    })}`
  await sql`
    insert into batch_rows (batch_id, position, key, inputs)
    values (${batch ?? ''}, 1, ${text}, ${json}::text::json), (${batch ?? ''}, 2, 'two', '{}')`
  await sql`
    insert into trace_notes (organization_id, trace_id, note)
    values (${organizationId}, gen_random_uuid(), ${text})`
  const bytes = Buffer.from(`%PDF ${text}`)
  await sql`
    insert into input_files ${sql({
      ...owner,
      id: file,
      name: 'letter.txt',
      mediaType: 'text/plain',
      size: bytes.length,
      sha256: Buffer.from(randomUUID().replaceAll('-', '').slice(0, 32)),
    })}`
  // The text goes over the border of two parts.
  const middle = bytes.length - 6
  for (const [position, content] of [bytes.subarray(0, middle), bytes.subarray(middle)].entries())
    await sql`insert into input_file_parts ${sql({ fileId: file, position, content })}`
  await sql`
    insert into batch_row_files (batch_id, position, file_id)
    values (${batch ?? ''}, 1, ${file ?? ''})`
}

/** Each row of each table as a text, by table. */
async function readAll(sql: Database): Promise<Map<string, string[]>> {
  const tables = await sql<{ name: string }[]>`
    select quote_ident(relname) as name from pg_class
    where relkind = 'r' and relnamespace = (
      select relnamespace from pg_class where oid = 'schema_migrations'::regclass)`
  const all = new Map<string, string[]>()
  for (const { name } of tables) {
    const rows = await sql.unsafe<{ row: string }[]>(
      `select to_jsonb(t)::text as row from ${name} t order by 1`,
    )
    all.set(
      name,
      rows.map(({ row }) => row),
    )
  }
  return all
}

/** As `to_jsonb` and JSON within it write it. */
const formsOf = (text: string): string[] => {
  const once = JSON.stringify(text).slice(1, -1)
  const hex = Buffer.from(text).toString('hex')
  return [text, once, JSON.stringify(once).slice(1, -1), hex]
}

async function tablesWith(sql: Database, text: string): Promise<string[]> {
  const all = await readAll(sql)
  const forms = formsOf(text)
  return [...all]
    .filter(([, rows]) => rows.some((row) => forms.some((form) => row.includes(form))))
    .map(([name]) => name)
}

/** Whether the files of a database have a text: tables, indexes, TOAST and statistics. */
async function hasInFiles(sql: Database, text: string): Promise<boolean> {
  await sql`checkpoint`
  const [{ directory }] = await sql<[{ directory: string }]>`
    select current_setting('data_directory') || '/base/' || oid as directory
    from pg_database where datname = current_database()`
  for (const name of await readdir(directory)) {
    const bytes = await readFile(join(directory, name))
    if (formsOf(text).some((form) => bytes.includes(form))) return true
  }
  return false
}

const key = ({ organizationId }: Automation, id: string) => ({ id, organizationId })

async function order(of: Automation, needle: Needle): Promise<string> {
  const { organizationId } = of
  const by = { seals: SEALS, organizationId, createdBy: 'Ada' }
  return (await createErasure(main.sql, by, { name: `Request ${randomUUID()}`, needle })).id
}

async function work(): Promise<void> {
  while ((await performErasure(main.sql, { seals: SEALS, traces })) > 0);
}

async function get(of: Automation, id: string): Promise<Erasure> {
  const erasure = await findErasure(main.sql, key(of, id))
  if (!erasure) throw new Error('no erasure')
  return erasure
}

async function erase(of: Automation, needle: Needle): Promise<Erasure> {
  const id = await order(of, needle)
  await work()
  await confirmErasure(main.sql, { id }, 'Ada')
  await appendLeaves(main.sql)
  await work()
  while ((await sweepContents(main.sql)) > 0);
  return get(of, id)
}

const countsOf = ({ found }: Erasure) =>
  Object.fromEntries(found.map((each) => [each.kind, [each.found, each.erased, each.held]]))

async function hold(of: Automation, fields: Omit<HoldFields, 'name'>): Promise<string> {
  const { organizationId } = of
  const given = await readHold(main.sql, organizationId, { name: 'Case 1', ...fields })
  return (await createHold(main.sql, { organizationId, createdBy: 'Ada' }, given)).id
}

const holds = () => openTraceHolds({ collectorUrl: harness.collector.url, secret: SECRET })

describe('the erasure of a person', () => {
  it('leaves no text of theirs in any table, and each row of others as it was', async () => {
    const { sql } = main
    for (const of of [acme, globex]) {
      await leaveThings(of, OTHER)
      await endRun(of, OTHER)
      await sendTrace(of, OTHER)
    }
    await leaveThings(globex, PERSON)
    const elsewhere = await endRun(globex, PERSON)
    const theirTrace = await sendTrace(globex, PERSON)
    await appendLeaves(sql)
    await harness.extracted()
    await sql`delete from swept_contents`
    const [before, tracesBefore] = [await readAll(sql), await readAll(harness.sql)]
    await leaveThings(acme, PERSON)
    const runId = await endRun(acme, PERSON)
    await askModel(acme, PERSON.toUpperCase())
    await sendTrace(acme, PERSON, runId.replaceAll('-', ''))
    await harness.extracted()
    const needle = readNeedle({ name: 'x', kind: 'text', value: ` ${PERSON} ` })
    const erasure = await erase(acme, needle)
    expect(erasure).toMatchObject({ state: 'erased', problem: null, confirmedBy: 'Ada' })
    expect(countsOf(erasure)).toEqual({
      batch_row: [1, 1, 0],
      case: [1, 1, 0],
      file: [1, 1, 0],
      note: [1, 1, 0],
      run: [2, 2, 0],
      trace: [2, 2, 0],
      trigger_delivery: [1, 1, 0],
      // One by its text, an event of the run, and its end to both webhooks.
      webhook_message: [expect.any(Number), expect.any(Number), 0],
    })
    await harness.rolledUp()
    await harness.extracted()

    // What is left is that of the other organization.
    const left = await readAll(sql)
    for (const [table, rows] of before) {
      if (table === 'audit_entries' || table.startsWith('receipt_')) continue
      const missing = rows.filter((row) => !(left.get(table) ?? []).includes(row))
      expect([table, missing]).toEqual([table, []])
    }
    const tracesLeft = await readAll(harness.sql)
    for (const table of [
      'traces',
      ...[...tracesBefore.keys()].filter((name) => name.startsWith('spans_')),
    ])
      expect([table, tracesLeft.get(table)]).toEqual([table, tracesBefore.get(table)])
    const found = await traces.find(globex.organizationId, needle, null)
    expect(found.traceIds).toEqual([asUuid(theirTrace)])
    expect(await traces.find(acme.organizationId, needle, null)).toMatchObject({ traceIds: [] })
    await erase(globex, needle)
    await harness.rolledUp()
    await harness.extracted()
    expect(await tablesWith(sql, PERSON)).toEqual([])
    expect(await tablesWith(harness.sql, PERSON)).toEqual([])
    expect(await tablesWith(sql, PERSON.toUpperCase())).toEqual([])
    // What is deleted stays in the files, beside its tables' rows, until they are written anew.
    for (const each of [sql, harness.sql]) {
      expect(await hasInFiles(each, PERSON)).toBe(true)
      await each`vacuum (full, analyze)`
      expect(await hasInFiles(each, PERSON)).toBe(false)
    }

    // Their receipts stay, without the salts by which one could try texts.
    const receipts = await sql`
      select l.run_id, s.salt from receipt_leaves l left join receipt_salts s using (run_id)
      where l.run_id in (${runId}, ${elsewhere})`
    expect(receipts.map(({ salt }) => salt)).toEqual([null, null])
    const audit = await sql<{ row: string }[]>`
      select to_jsonb(a)::text as row from audit_entries a where action = 'erasure_completed'
        and organization_id = ${acme.organizationId}`
    expect(audit).toHaveLength(1)
    expect(audit[0]?.row).toContain('"run": 2')
  })

  it('continues after a worker was killed at any point, and finishes the same', async () => {
    const runs: string[] = []
    for (let nr = 0; nr < 3; nr++) runs.push(await endRun(acme, 'linus@example.com'))
    const trace = await sendTrace(acme, 'linus@example.com')
    await appendLeaves(main.sql)
    const id = await order(acme, { kind: 'text', value: 'linus@example.com' })
    let calls = 0
    /** Dies before or after every other call of the collector. */
    const dying: PersonTraces = {
      async find(...asked) {
        if (++calls % 2 === 1) throw new Error('killed')
        return traces.find(...asked)
      },
      async erase(...asked) {
        const isErased = await traces.erase(...asked)
        if (++calls % 2 === 1) throw new Error('killed')
        return isErased
      },
      forget: (...asked) => traces.forget(...asked),
    }
    const step = () => performErasure(main.sql, { seals: SEALS, traces: dying }).catch(() => 1)
    for (let turn = 0; turn < 200 && (await get(acme, id)).state === 'finding'; turn++) await step()
    expect(countsOf(await get(acme, id))).toMatchObject({ run: [3, 0, 0], trace: [4, 0, 0] })
    await confirmErasure(main.sql, { id }, 'Ada')
    for (let turn = 0; turn < 200 && (await get(acme, id)).state !== 'erased'; turn++) {
      // Two workers at a time.
      await Promise.all([step(), step()])
    }
    expect(calls).toBeGreaterThan(4)
    const erasure = await get(acme, id)
    expect(erasure.state).toBe('erased')
    expect(countsOf(erasure)).toMatchObject({ run: [3, 3, 0], trace: [4, 4, 0] })
    expect(await main.sql`select from executions where id = any (${runs}::uuid[])`).toHaveLength(0)
    expect(await isStored(trace)).toBe(false)
    expect(
      await main.sql`
      select from audit_entries where action = 'erasure_completed' and target_id = ${id}
    `,
    ).toHaveLength(1)
  })

  it('erases nothing before it is confirmed, and is withdrawn until then', async () => {
    const runId = await endRun(acme, 'barbara@example.com')
    const id = await order(acme, { kind: 'text', value: 'Barbara@' })
    await expect(confirmErasure(main.sql, { id }, 'Ada')).rejects.toThrow('Only a plan')
    await work()
    expect(countsOf(await get(acme, id))).toMatchObject({ run: [1, 0, 0] })
    expect(await main.sql`select from executions where id = ${runId}`).toHaveLength(1)
    await withdrawErasure(main.sql, { id })
    expect(await findErasure(main.sql, key(acme, id))).toBeUndefined()
  })

  it('finds by the id of a user and by an attribute of spans', async () => {
    const runId = await endRun(acme, 'nothing', 'person:4711')
    const trace = await sendTrace(acme, '4711')
    const byUser = await erase(acme, { kind: 'user', value: '4711' })
    expect(countsOf(byUser)).toMatchObject({ run: [1, 1, 0], trace: [2, 2, 0] })
    expect(await main.sql`select from executions where id = ${runId}`).toHaveLength(0)
    expect(await isStored(trace)).toBe(false)
    const other = await sendTrace(acme, '4712')
    const byAttribute = await erase(acme, { kind: 'attribute', value: 'user.id=4712' })
    expect(countsOf(byAttribute)).toEqual({ trace: [1, 1, 0] })
    expect(await isStored(other)).toBe(false)
  })

  it('is carried out anew on a restored database, by the ids and without a key', async () => {
    const { sql } = main
    const runId = await endRun(acme, 'edsger@example.com')
    const [run] = await sql`select to_jsonb(e) as row from executions e where id = ${runId}`
    await erase(acme, { kind: 'text', value: 'edsger@example.com' })
    await sql`
      insert into executions select * from jsonb_populate_record(null::executions, ${run?.['row']})`
    expect(await eraseRestored(sql)).toBeGreaterThan(0)
    expect(await sql`select from executions where id = ${runId}`).toHaveLength(0)
    await work()
  })

  it('refuses a text that is too short, and a name that has what is looked for', () => {
    expect(() => readNeedle({ name: 'x', kind: 'text', value: ' a ' })).toThrow('3 characters')
    expect(() => readNeedle({ name: 'x', kind: 'attribute', value: 'a' })).toThrow('customer.id=')
    expect(() => readNeedle({ name: 'Ada@x.org', kind: 'text', value: 'ada@X.org' })).toThrow(
      'Choose another',
    )
  })
})

const asUuid = (id: string): string => id.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')

async function isStored(traceId: string): Promise<boolean> {
  const rows = await harness.sql`select from spans where trace_id = ${asUuid(traceId)} limit 1`
  return rows.length > 0
}

describe('a legal hold', () => {
  it('keeps runs, traces and what belongs to them from an erasure, which says so', async () => {
    const { sql } = main
    const [kept, free] = [
      await endRun(acme, 'tony@example.com'),
      await endRun(acme, 'tony@example.com'),
    ]
    await sendTrace(acme, 'tony@example.com', kept.replaceAll('-', ''))
    const trace = await sendTrace(acme, 'tony@example.com')
    await sql`
      insert into trace_notes (organization_id, trace_id, note)
      values (${acme.organizationId}, ${kept}, 'good')`
    const ids = [
      await hold(acme, { kind: 'run', value: kept }),
      await hold(acme, { kind: 'trace', value: trace }),
    ]
    while ((await applyHolds(sql, { holds: holds(), traces })) > 0);
    const erasure = await erase(acme, { kind: 'text', value: 'tony@example.com' })
    expect(erasure.state).toBe('erased')
    const { webhook_message: messages = [], ...counts } = countsOf(erasure)
    expect(counts).toEqual({ note: [1, 0, 1], run: [2, 1, 1], trace: [3, 1, 2] })
    // As many of the one run as of the other.
    expect(messages[1]).toBe(messages[2])
    expect(await sql`select id from executions where id in (${kept}, ${free})`).toEqual([
      { id: kept },
    ])
    expect([await isStored(kept.replaceAll('-', '')), await isStored(trace)]).toEqual([true, true])
    for (const id of ids) {
      await liftHold(sql, { id })
      await holds().lift(acme.organizationId, id)
    }
    const again = await erase(acme, { kind: 'text', value: 'tony@example.com' })
    expect(countsOf(again)).toMatchObject({ note: [1, 1, 0], run: [1, 1, 0], trace: [2, 2, 0] })
    expect(await isStored(trace)).toBe(false)
  })

  it('keeps cases, results of evaluations and outcomes of replays, which are counted', async () => {
    const { sql } = main
    const text = 'niklaus@example.com'
    const [kept, free] = [await endRun(acme, text), await endRun(acme, text)]
    const { organizationId, id: deploymentId, projectVersionId } = acme
    const [{ setId }] = await sql<[{ setId: string }]>`
      insert into case_sets (organization_id, deployment_id, name, checks, size)
      values (${organizationId}, ${deploymentId}, ${randomUUID()}, '[]', 3) returning id as set_id`
    const cases = await sql<{ id: string }[]>`
      insert into cases (set_id, inputs, run_id)
      values (${setId}, '{}', ${kept}), (${setId}, '{}', ${free}), (${setId}, '{}', null)
      returning id`
    const [{ evaluation }] = await sql<[{ evaluation: string }]>`
      insert into evaluations (organization_id, deployment_id, set_id, revision, checks, version_id,
        repeat, cases, created_by)
      values (${organizationId}, ${deploymentId}, ${setId}, 0, '[]', ${projectVersionId}, 1, 3, 'x')
      returning id as evaluation`
    for (const { id } of cases)
      await sql`
        insert into evaluation_runs
          (evaluation_id, case_id, is_against, repetition, position, state, finished_at, output)
        values (${evaluation}, ${id}, false, 0, 0, 'passed', now(), ${text})`
    const [{ replay }] = await sql<[{ replay: string }]>`
      insert into replays
        (organization_id, deployment_id, version_id, last, status, kickoff_ids, runs, created_by)
      values (${organizationId}, ${deploymentId}, ${projectVersionId}, 1, 'any', '{}', 2, 'x')
      returning id as replay`
    for (const runId of [kept, free])
      await sql`
        insert into replay_runs (replay_id, run_id, position, state, finished_at, output)
        values (${replay}, ${runId}, 0, 'different', now(), ${text})`
    const id = await hold(acme, { kind: 'run', value: kept })
    const erasure = await erase(acme, { kind: 'text', value: text })
    expect(countsOf(erasure)).toMatchObject({
      run: [2, 1, 1],
      case: [2, 1, 1],
      evaluation_run: [3, 2, 1],
      replay_run: [2, 1, 1],
    })
    expect(await sql`select id from cases where set_id = ${setId}`).toHaveLength(2)
    expect(await sql`select size from case_sets where id = ${setId}`).toEqual([{ size: 2 }])
    await liftHold(sql, { id })
    const again = await erase(acme, { kind: 'text', value: text })
    expect(countsOf(again)).toMatchObject({
      run: [1, 1, 0],
      case: [1, 1, 0],
      evaluation_run: [1, 1, 0],
      replay_run: [1, 1, 0],
    })
  })

  it('keeps what a judge said of its run, and lets it go with the hold', async () => {
    const { sql } = main
    const text = 'grace@example.com'
    const { organizationId, id: deploymentId } = acme
    const runId = await endRun(acme, 'somebody')
    const findings = sql.json([{ type: 'judge', state: 'failed', reason: text }])
    const row = { runId, organizationId, deploymentId, state: 'failed', scoredAt: new Date() }
    await sql`insert into run_scores ${sql({ ...row, reason: text, findings })}`
    const id = await hold(acme, { kind: 'run', value: runId })
    const held = await erase(acme, { kind: 'text', value: text })
    expect(countsOf(held)).toMatchObject({ run_score: [1, 0, 1] })
    await liftHold(sql, { id })
    const erasure = await erase(acme, { kind: 'text', value: text })
    expect(countsOf(erasure)).toMatchObject({ run_score: [1, 1, 0] })
    const [left] = await sql`select state, reason, findings from run_scores where run_id = ${runId}`
    expect(left).toEqual({ state: 'failed', reason: null, findings: [] })
  })

  it('keeps rows of batches by their automation, which wait on', async () => {
    const { sql } = main
    const text = 'rosa@example.com'
    await leaveThings(acme, text)
    const value = acme.automationId
    const id = await hold(acme, { kind: 'automation', value })
    const erasure = await erase(acme, { kind: 'text', value: text })
    expect(countsOf(erasure)).toMatchObject({ batch_row: [1, 0, 1] })
    const rows = sql`select position from batch_rows where key = ${text} and inputs is not null`
    expect(await rows).toEqual([{ position: 1 }])
    await liftHold(sql, { id })
    const again = await erase(acme, { kind: 'text', value: text })
    expect(countsOf(again)).toMatchObject({ batch_row: [1, 1, 0] })
  })

  it('is listed, added and lifted at a shell, with its traces, and recorded', async () => {
    const { sql } = main
    const printed: string[] = []
    const config = { COLLECTOR_URL: harness.collector.url, COLLECTOR_JWT_SECRET: SECRET }
    const run = (args: string[], input = '', given: Partial<typeof config> = config) =>
      manageHolds(sql, {
        args,
        config: { COLLECTOR_URL: undefined, COLLECTOR_JWT_SECRET: undefined, ...given },
        readInput: async () => input,
        print: (line) => void printed.push(line),
      })
    const runId = await endRun(acme, 'contract 12', 'person:12')
    const trace = await sendTrace(acme, 'contract 12')
    await run(['Acme', 'add', 'Case 9', 'text'], ' contract 12\n')
    const [id = ''] = printed.splice(0)
    while ((await applyHolds(sql, { holds: holds(), traces })) > 0);
    await run(['Acme', 'list'])
    expect(printed.splice(0)).toEqual([`${id}  text  Case 9: contract 12`])
    await run(['Globex', 'list'])
    expect(printed).toEqual([])
    await expect(sql`delete from executions where id = ${runId}`).rejects.toThrow('legal hold')
    await expect(run(['Globex', 'lift', id])).rejects.toThrow(`Globex has no hold "${id}"`)
    await expect(run(['Acme', 'lift', id], '', {})).rejects.toThrow('Set COLLECTOR_URL')
    const broken = { ...config, COLLECTOR_URL: 'http://127.0.0.1:9' }
    await expect(run(['Acme', 'lift', id], '', broken)).rejects.toThrow()
    expect(await findHold(sql, key(acme, id))).toBeDefined()
    await run(['Acme', 'lift', id])
    expect(await findHold(sql, key(acme, id))).toBeUndefined()
    expect(await traces.erase(acme.organizationId, asUuid(trace))).toBe(true)
    const actions = await sql<{ action: string }[]>`
      select action from audit_entries where target_id = ${id} order by id`
    expect(actions.map(({ action }) => action)).toEqual(['legal_hold_created', 'legal_hold_lifted'])
    await run(['Acme', 'add', 'Case 10', 'run', runId.toUpperCase()])
    await run(['Acme', 'lift', printed.splice(0)[0] ?? ''], '', {})
    for (const [args, input, problem] of [
      [['Acme'], '', 'Use: holds'],
      [['Acme', 'add', 'x', 'text', 'in the history'], '', 'standard input'],
      [['Acme', 'add', 'x', 'run'], '', 'Use: holds'],
      [['Acme', 'add', 'x', 'odd', 'y'], '', 'Use: holds'],
      [['Acme', 'add', 'x', 'text'], 'two\nlines', 'in one line'],
      [['Acme', 'add', 'x', 'text'], 'ab', 'at least 3 characters'],
      [['Acme', 'add', 'x', 'run', randomUUID()], '', 'nothing with this id'],
      [['Nobody', 'list'], '', 'no organization "Nobody"'],
    ] as const)
      await expect(run([...args], input)).rejects.toThrow(problem)
  })

  it('keeps runs from the retention and an automation from being deleted', async () => {
    const { sql } = main
    const other = await seedAutomation(sql, { organization: 'Initech', slug: 'held' })
    const runs = [await endRun(other, 'contract 4711'), await endRun(other, 'nothing')]
    await sql`
      update executions set finished_at = now() - interval '200 days'
      where id = any (${runs}::uuid[])`
    const id = await hold(other, { kind: 'text', value: 'Contract 4711' })
    await expect(removeAutomation(sql, other)).rejects.toThrow('A legal hold keeps runs')
    await expect(sql`delete from executions where id = any (${runs}::uuid[])`).rejects.toThrow(
      'under a legal hold',
    )
    while ((await deleteExpiredRuns(sql, { days: 90 })) > 0);
    const left = () => sql<{ id: string }[]>`
      select id from executions where deployment_id = ${other.id}`
    expect(await left()).toEqual([{ id: runs[0] }])
    await liftHold(sql, { id })
    while ((await deleteExpiredRuns(sql, { days: 90 })) > 0);
    expect(await left()).toEqual([])
  })

  it('names no run or automation of another organization', async () => {
    const runId = await endRun(globex, 'x y z')
    await expect(hold(acme, { kind: 'run', value: runId })).rejects.toThrow('nothing with this id')
    const { automationId } = globex
    await expect(hold(acme, { kind: 'automation', value: automationId })).rejects.toThrow(
      'nothing with this id',
    )
    expect(
      await findErasure(main.sql, key(acme, await order(globex, { kind: 'text', value: 'x y z' }))),
    ).toBeUndefined()
  })
})
