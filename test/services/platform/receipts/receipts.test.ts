import { createPublicKey } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import * as v from 'valibot'
import { OPERATOR, writeAudit } from '../../../../services/platform/audit/audit.ts'
import { deleteExpiredAudit } from '../../../../services/platform/audit/audit-upkeep.ts'
import { appendLeaves, hasNewLeaves } from '../../../../services/platform/receipts/append-leaves.ts'
import {
  receiptSchema,
  saltedHash,
} from '../../../../services/platform/receipts/receipt-documents.ts'
import type { Receipt } from '../../../../services/platform/receipts/receipt-documents.ts'
import { listReceiptKeys } from '../../../../services/platform/receipts/receipt-keys.ts'
import {
  entriesWithReceipt,
  findConsistency,
  findEntryReceipt,
  findReceipt,
  listHeads,
} from '../../../../services/platform/receipts/receipts.ts'
import { hasUnsignedLeaves, signHead } from '../../../../services/platform/receipts/sign-heads.ts'
import {
  checkConsistency,
  checkReceipt,
} from '../../../../services/platform/receipts/verify-receipt.ts'
import { createLog } from '../../../../services/shared/log.ts'
import { resealKeys } from '../../../../services/tasks/reseal-keys.ts'
import { verifyReceipt } from '../../../../services/tasks/verify-receipt.ts'
import { seedAutomation } from '../../../support/platform.ts'
import { isLong } from '../../../support/long.ts'
import { useOneAutomation } from '../one-automation.ts'

const at = useOneAutomation()
const SEALS = { current: 'a'.repeat(32) }
const NEXT = { current: 'b'.repeat(32), previous: SEALS.current }
const folder = mkdtempSync(join(tmpdir(), 'receipts-'))
afterAll(() => rmSync(folder, { recursive: true }))

const PRICES = [{ models: ['tiny'], perMillion: { input: 2, output: 10 }, readOn: undefined }]

/** A run that has ended, with a call of a model and the decision of a person. */
async function endRun(output = 'Tides.'): Promise<string> {
  const id = await at.enqueue({ topic: 'tides' })
  await at.sql`
    insert into run_steps (run_id, step_key, position, kind, name, path, state, attempt, started_at,
      ended_at, usage)
    values (${id}, 'a', 0, 'llm', 'tiny', '[]', 'finished', 1, now(), now(),
      '{"input_tokens":1000,"output_tokens":50}')`
  await at.sql`
    insert into run_approvals (run_id, step_key, task, proposed, decide_by, decision, decided_at)
    values (${id}, 'b', 'write', 'Shall I?', now(), 'approve', now())`
  await at.sql`
    update executions set status = 'completed', output = ${output}, started_at = now(),
      finished_at = now(), starter_id = 'person:7', starter_name = 'Ada' where id = ${id}`
  return id
}

/** An hour later, where something is new. */
async function sign(seals: Parameters<typeof signHead>[1] = SEALS) {
  await at.sql`update receipt_heads set signed_at = now() - interval '1 hour'`
  return signHead(at.sql, seals)
}

async function receiptOf(runId: string, size?: number): Promise<Receipt> {
  const { organizationId } = at.automation
  const receipt = await findReceipt(at.sql, { organizationId, runId, size })
  return v.parse(receiptSchema, JSON.parse(JSON.stringify(receipt)))
}

async function publicKeys(): Promise<string[]> {
  return (await listReceiptKeys(at.sql)).map(({ statement }) => statement.key)
}

const leaves = () =>
  at.sql<{ index: number; runId: string | null; content: string }[]>`
    select index::int, run_id, content from receipt_leaves order by index`

beforeEach(async () => {
  await at.sql`delete from receipt_leaves`
  await at.sql`delete from receipt_nodes`
  await at.sql`delete from receipt_heads`
  await at.sql`delete from receipt_keys`
  await at.sql`delete from receipt_salts`
  await at.sql`
    update receipt_log set size = 0, runs_until = now(), audit_until = clock_timestamp(),
      swept_at = now()`
})

describe('the log of receipts', () => {
  it('has one leaf for each run that has ended and each entry of the audit', async () => {
    const first = await endRun()
    await at.enqueue()
    await at.sql.begin((tx) =>
      writeAudit(tx, OPERATOR, { action: 'flag_set', target: { kind: 'flag', id: 'x' } }),
    )
    const turns = Array.from({ length: 6 }, () => appendLeaves(at.sql, PRICES))
    expect((await Promise.all(turns)).reduce((sum, each) => sum + each)).toBe(2)
    const second = await endRun()
    expect(await appendLeaves(at.sql, PRICES)).toBe(1)
    expect(await appendLeaves(at.sql, PRICES)).toBe(0)
    const [one, audit, two] = await leaves()
    expect([one?.index, audit?.index, two?.index]).toEqual([0, 1, 2])
    expect([one?.runId, audit?.runId, two?.runId]).toEqual([first, null, second])
    expect(JSON.parse(audit?.content ?? '')).toMatchObject({ kind: 'audit', action: 'flag_set' })
    expect(audit?.content).not.toContain('an operator')
  })

  it('says of a run what it took, and what people wrote in salted hashes only', async () => {
    const id = await endRun('A secret of Ada.')
    await appendLeaves(at.sql, PRICES)
    await sign()
    const { leaf, opened } = await receiptOf(id)
    expect(leaf).toMatchObject({
      kind: 'run',
      id,
      version: expect.stringMatching(/^[0-9a-f]{64}$/),
      status: 'completed',
      steps: { llm: 1 },
      models: [{ model: 'tiny', calls: 1, input_tokens: 1000, output_tokens: 50 }],
      cost_usd: '0.002500',
      decisions: [{ decision: 'approve' }],
    })
    const salt = Buffer.from(opened?.salt ?? '', 'hex')
    expect(leaf['inputs']).toBe(saltedHash(salt, 'inputs', { topic: 'tides' }))
    expect(leaf['output']).toBe(saltedHash(salt, 'output', 'A secret of Ada.'))
    expect(JSON.stringify(leaf)).not.toMatch(/Ada|person:7|tides|Shall/)
  })

  it('loses and doubles nothing when a turn is broken off', async () => {
    const ids = [await endRun(), await endRun()]
    await at.sql`alter table receipt_log add constraint broken check (size = 0)`
    await expect(appendLeaves(at.sql)).rejects.toThrow('broken')
    const [rest] = await at.sql`
      select (select count(*) from receipt_leaves) + (select count(*) from receipt_nodes)
        + (select count(*) from receipt_salts) as count`
    expect(rest).toEqual({ count: '0' })
    await at.sql`alter table receipt_log drop constraint broken`
    expect(await appendLeaves(at.sql)).toBe(2)
    expect((await leaves()).map(({ runId }) => runId)).toEqual(ids)
  })

  it('also takes a run whose end was committed after that of a later one', async () => {
    const late = await at.enqueue()
    await endRun()
    expect(await appendLeaves(at.sql)).toBe(1)
    await at.sql`
      update executions set status = 'completed', output = 'x',
        finished_at = now() - interval '1 minute' where id = ${late}`
    expect(await appendLeaves(at.sql)).toBe(0)
    const isDue = async () => (await at.sql`select ${hasNewLeaves(at.sql)} as due`)[0]
    expect(await isDue()).toEqual({ due: false })
    // A minute later. The entries of former tests are not asked for again.
    await at.sql`
      update receipt_log set swept_at = now() - interval '61 seconds',
        audit_until = clock_timestamp() + interval '5 minutes'`
    expect(await isDue()).toEqual({ due: true })
    expect(await appendLeaves(at.sql)).toBe(1)
    expect(await appendLeaves(at.sql)).toBe(0)
    expect(await isDue()).toEqual({ due: false })
  })

  it('reads by their indexes no more than what has ended of late', async () => {
    await at.sql`
      insert into executions (deployment_id, inputs, status, queued_at, finished_at)
      select ${at.automation.id}, '{}', 'stopped', at, at
      from generate_series(1, 2000) n, lateral (select now() - n * interval '1 hour' as at) t`
    await at.sql`analyze executions`
    await endRun()
    const [due, before, after] = await at.sql.begin(async (tx) => {
      const look = () => tx<[{ scans: number; rows: number }]>`
        select sum(seq_scan)::int as scans, sum(idx_tup_fetch)::int as rows
        from pg_stat_xact_user_tables where relname in ('executions', 'audit_entries')`
      const [former] = await look()
      const [asked] = await tx`
        select ${hasNewLeaves(tx)} as leaves, ${hasUnsignedLeaves(tx)} as head`
      const [latter] = await look()
      return [asked, former, latter] as const
    })
    expect(due).toEqual({ leaves: true, head: false })
    expect(after).toEqual({ scans: before.scans, rows: before.rows + 1 })
    expect(await appendLeaves(at.sql)).toBe(1)
  })

  it('forgets the salt with the run and the entry, and proves the leaf nevertheless', async () => {
    const id = await endRun()
    await at.sql.begin((tx) =>
      writeAudit(tx, OPERATOR, { action: 'flag_set', target: { kind: 'flag', id: 'x' } }),
    )
    await appendLeaves(at.sql)
    await sign()
    await at.sql`delete from executions`
    await deleteExpiredAudit(at.sql, -1)
    expect(await at.sql`select from receipt_salts`).toHaveLength(0)
    const receipt = await receiptOf(id)
    expect(receipt.opened).toBeNull()
    expect(checkReceipt(receipt, await publicKeys())).toEqual([])
  })

  it('gives a receipt to its own organization alone, and of runs with a head', async () => {
    const id = await endRun()
    const own = { organizationId: at.automation.organizationId, runId: id }
    await appendLeaves(at.sql)
    expect(await findReceipt(at.sql, own)).toBeUndefined()
    await sign()
    expect(await findReceipt(at.sql, own)).toBeDefined()
    const rival = { ...own, organizationId: own.organizationId + 1 }
    expect(await findReceipt(at.sql, rival)).toBeUndefined()
    expect(await findReceipt(at.sql, { ...own, runId: "x' or true" })).toBeUndefined()
  })
})

describe('the receipt of an entry of the audit', () => {
  /** Writes an entry, and has it signed. */
  async function record(organizationId?: number): Promise<string> {
    const actor = { ...OPERATOR, ...(organizationId === undefined ? {} : { organizationId }) }
    await at.sql.begin((tx) =>
      writeAudit(tx, actor, {
        action: 'flag_set',
        target: { kind: 'flag', id: 'x', name: 'Isolation' },
        before: { share: 0.1, on: null },
        after: { share: 1e21, on: { by: 'é"' } },
      }),
    )
    await appendLeaves(at.sql)
    await sign()
    const [{ id }] = await at.sql<[{ id: string }]>`select max(id)::text as id from audit_entries`
    return id
  }

  const parsed = (receipt: Receipt | undefined): Receipt =>
    v.parse(receiptSchema, JSON.parse(JSON.stringify(receipt)))

  it('has who acted and what was changed, and holds without them', async () => {
    const { organizationId } = at.automation
    const entryId = await record(organizationId)
    const receipt = parsed(await findEntryReceipt(at.sql, { organizationId, entryId }))
    const keys = await publicKeys()
    expect(checkReceipt(receipt, keys)).toEqual([])
    expect(receipt.opened).toMatchObject({
      actor: { id: null, name: OPERATOR.name },
      facts: { target_name: 'Isolation', after: { on: { by: 'é"' } } },
    })
    expect(checkReceipt({ ...receipt, opened: null }, keys)).toEqual([])
    const { opened } = receipt
    if (!opened) throw new Error('it is not open')
    const others: (readonly [typeof opened, string])[] = [
      [{ ...opened, actor: { id: null, name: 'Eve' } }, 'who acted is not'],
      [{ ...opened, facts: { ...opened.facts, address: '192.0.2.7' } }, 'what the entry says'],
      [{ salt: opened.salt, starter: null }, 'starter is in no leaf'],
      [{ ...opened, salt: 'ab'.repeat(32) }, 'the salt is another one'],
    ]
    for (const [changed, problem] of others)
      expect(checkReceipt({ ...receipt, opened: changed }, keys).join()).toContain(problem)
    const runOpened = { salt: opened.salt, starter: { id: 'person:7', name: 'Ada' } }
    const run = await endRun()
    await appendLeaves(at.sql)
    await sign()
    const ofRun = await receiptOf(run)
    expect(checkReceipt({ ...ofRun, opened: runOpened }, keys)).toHaveLength(1)
    const file = join(folder, 'entry.json')
    writeFileSync(file, JSON.stringify(receipt))
    let said = ''
    const say = (text: string) => void (said += text)
    expect(verifyReceipt([file, '--key', keys[0] ?? ''], { result: say, problem: say })).toBe(0)
    expect(said).toContain(`The receipt of entry ${entryId} of the audit holds`)
  })

  it('is of its own organization or the platform alone, and has no salt once deleted', async () => {
    const { organizationId } = at.automation
    const [own, platform] = [await record(organizationId), await record()]
    const find = (of: number | null, entryId: string) =>
      findEntryReceipt(at.sql, { organizationId: of, entryId })
    expect(await find(organizationId, own)).toBeDefined()
    expect(await find(null, platform)).toBeDefined()
    for (const [of, id] of [
      [organizationId + 1, own],
      [null, own],
      [organizationId, platform],
      [organizationId, '999999'],
      [organizationId, '0'],
      [organizationId, "1' or true"],
      [organizationId, '9'.repeat(40)],
    ] as const)
      expect(await find(of, id)).toBeUndefined()
    expect(await entriesWithReceipt(at.sql, [own, '999999'])).toEqual(new Set([own]))
    await deleteExpiredAudit(at.sql, -1)
    const receipt = parsed(await find(organizationId, own))
    expect(receipt.opened).toBeNull()
    expect(checkReceipt(receipt, await publicKeys())).toEqual([])
  })
})

describe('signed heads', () => {
  it('are signed once an hour when the log has grown, and name the one before', async () => {
    await endRun()
    await appendLeaves(at.sql)
    const signed = await Promise.all([signHead(at.sql, SEALS), signHead(at.sql, SEALS)])
    expect(signed.filter((each) => each !== undefined)).toHaveLength(1)
    await endRun()
    await appendLeaves(at.sql)
    expect(await signHead(at.sql, SEALS)).toBeUndefined()
    expect(await sign()).toMatchObject({ head: { size: 2, previous: expect.any(String) } })
    expect(await sign()).toBeUndefined()
    const sizes = (await listHeads(at.sql, { limit: 9 })).map(({ head }) => head.size)
    expect(sizes).toEqual([2, 1])
  })

  it('are sent to webhooks that name them, in order, and once to an address', async () => {
    const { id: deploymentId } = at.automation
    const rival = await seedAutomation(at.sql, { organization: 'Rival', slug: 'theirs' })
    const other = await seedAutomation(at.sql, { organization: 'Acme', slug: 'other' })
    const hook = async (of: number, host: string, types: string[]) => {
      const [{ id }] = await at.sql<[{ id: string }]>`
        insert into webhooks (id, deployment_id, url, event_types, sealed_key)
        values (gen_random_uuid(), ${of}, ${`https://${host}.example/`}, ${types}, '') returning id`
      return id
    }
    const type = 'receipt_head_signed'
    const own = await hook(deploymentId, 'keep', ['run_failed', type])
    await hook(other.id, 'keep', [type])
    const theirs = await hook(rival.id, 'keep', [type])
    await hook(deploymentId, 'every', ['*'])
    const runId = await endRun()
    const ofTask = await hook(deploymentId, 'task', [type])
    await at.sql`update webhooks set run_id = ${runId} where id = ${ofTask}`
    await at.sql`delete from webhook_messages`
    await appendLeaves(at.sql)
    const first = await sign()
    await endRun()
    await appendLeaves(at.sql)
    const second = await sign()
    const sent = await at.sql<{ webhookId: string; payload: Record<string, unknown> }[]>`
      select webhook_id, payload from webhook_messages where type = ${type} order by id`
    expect(sent.map(({ webhookId }) => webhookId).toSorted()).toEqual(
      [own, own, theirs, theirs].toSorted(),
    )
    const mine = sent.filter(({ webhookId }) => webhookId === own).map(({ payload }) => payload)
    expect(mine).toMatchObject([
      { type, data: { head: first?.head, signature: first?.signature } },
      { type, data: { head: second?.head, signature: second?.signature } },
    ])
    const lines = await at.sql`select from webhook_lines where webhook_id = ${own}`
    expect(lines).toHaveLength(1)
    const receipt = await receiptOf(runId)
    const [key = ''] = await publicKeys()
    const path = join(folder, 'message.json')
    const file = join(folder, 'of-run.json')
    writeFileSync(file, JSON.stringify(receipt))
    const verify = (message: unknown) => {
      writeFileSync(path, JSON.stringify(message))
      const args = [file, '--key', key, '--head', path]
      return verifyReceipt(args, { result: () => {}, problem: () => {} })
    }
    expect(verify(mine[1])).toBe(0)
    const root = 'ab'.repeat(32)
    const forged = { ...second, head: { ...second?.head, root } }
    expect(verify({ type, timestamp: '', data: { ...forged, text: '' } })).toBe(2)
    expect(verify(mine[0])).toBe(3)
    await at.sql`delete from webhooks`
  })

  it('continue each other, and a changed log is found by who kept a head', async () => {
    const id = await endRun()
    await appendLeaves(at.sql)
    await sign()
    const [trusted = ''] = await publicKeys()
    await endRun()
    await appendLeaves(at.sql)
    await sign()
    const proof = await findConsistency(at.sql, { first: 1, second: 2 })
    if (!proof) throw new Error('no proof')
    expect(checkConsistency(proof, [trusted])).toEqual([])
    expect(checkReceipt(await receiptOf(id, 1), [trusted])).toEqual([])
    expect(await findConsistency(at.sql, { first: 1, second: 3 })).toBeUndefined()
    const root = 'ab'.repeat(32)
    const forked = { ...proof, first: { ...proof.first, head: { ...proof.first.head, root } } }
    expect(checkConsistency(forked, [trusted])).toHaveLength(2)
  })

  it('are signed with a key that the former one vouches for, after a rotation', async () => {
    const id = await endRun()
    await appendLeaves(at.sql)
    await sign()
    const [first = ''] = await publicKeys()
    await resealKeys(at.sql, NEXT, createLog({ name: 'test', level: 'silent' }))
    await endRun()
    await appendLeaves(at.sql)
    expect(await sign({ current: NEXT.current })).toMatchObject({ isUnsigned: false })
    const receipt = await receiptOf(id)
    expect(checkReceipt(receipt, [first])).toEqual([])
    expect(checkReceipt({ ...receipt, keys: [] }, [first])).toHaveLength(1)
  })

  it('are signed with a new key after the loss of one, which says so', async () => {
    const id = await endRun()
    await appendLeaves(at.sql)
    await sign()
    await endRun()
    await appendLeaves(at.sql)
    expect(await sign({ current: 'c'.repeat(32) })).toMatchObject({ isUnsigned: true })
    const [first = '', second = ''] = await publicKeys()
    const receipt = await receiptOf(id)
    expect(checkReceipt(receipt, [first])).toHaveLength(1)
    expect(checkReceipt(receipt, [second])).toEqual([])
    const proof = await findConsistency(at.sql, { first: 1, second: 2 })
    expect(proof && checkConsistency(proof, [first, second])).toEqual([])
  })
})

describe('receipt:verify', () => {
  let receipt: Receipt
  let trusted: string
  let key: string

  const write = (name: string, content: unknown): string => {
    const path = join(folder, name)
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
    return path
  }
  function verify(file: string, ...args: string[]) {
    let said = ''
    const say = (text: string) => void (said += text)
    const code = verifyReceipt([file, ...args], { result: say, problem: say })
    return { code, said }
  }

  async function prepare(): Promise<string> {
    const id = await endRun()
    for (let more = 0; more < 6; more += 1) await endRun()
    await appendLeaves(at.sql)
    await sign()
    receipt = await receiptOf(id)
    ;[trusted = ''] = await publicKeys()
    const spki = { key: Buffer.from(trusted, 'hex'), format: 'der', type: 'spki' } as const
    key = write('key.pem', String(createPublicKey(spki).export({ format: 'pem', type: 'spki' })))
    return write('receipt.json', receipt)
  }

  it('ends with 0 for a receipt that holds, and says what that does not prove', async () => {
    const file = await prepare()
    const inputs = write('inputs.json', '{ "topic": "tides" }')
    const output = write('output.md', 'Tides.')
    const given = ['--key', key, '--inputs', inputs, '--output', output]
    expect(verify(file, ...given)).toMatchObject({
      code: 0,
      said: expect.stringContaining('tamper-evident'),
    })
    expect(verify(file, '--key', trusted, '--inputs', output).code).toBe(2)
    const changed = { ...receipt, leaf: { ...receipt.leaf, cost_usd: '0.000001' } }
    expect(verify(write('changed.json', changed), '--key', key)).toMatchObject({
      code: 2,
      said: expect.stringContaining('not in the tree'),
    })
    expect(verify(write('none.json', '{'), '--key', key).code).toBe(2)
    expect(() => verify(join(folder, 'missing'), '--key', key)).toThrow('cannot be read')
    expect(() => verify(file)).toThrow('--key')
    expect(() => verify(file, '--key', inputs)).toThrow('PEM')
  })

  it('compares with a head that was kept, and cannot without a proof', async () => {
    const file = await prepare()
    const { head, signature } = receipt
    const with_ = (...documents: unknown[]) => {
      const heads = documents.map((document, place) => write(`head-${place}`, document))
      return verify(file, '--key', key, ...heads.flatMap((head) => ['--head', head]))
    }
    expect(with_({ head, signature }).code).toBe(0)
    expect(with_({ level: 30, receipt_head: { head, signature } }).code).toBe(0)
    expect(with_({ head: { ...head, root: 'ab'.repeat(32) }, signature }).code).toBe(2)
    await endRun()
    await appendLeaves(at.sql)
    const later = await sign()
    expect(with_({ head: later?.head, signature: later?.signature }).code).toBe(3)
    const first = head.size
    const proof = await findConsistency(at.sql, { first, second: first + 1 })
    const kept = { head: later?.head, signature: later?.signature }
    expect(with_(proof, kept).code).toBe(0)
    const forked = { ...kept, head: { ...later?.head, root: 'ab'.repeat(32) } }
    expect(with_(proof, forked).code).toBe(2)
    expect(with_({ ...proof, proof: [] }, kept).code).toBe(2)
    expect(() => with_({})).toThrow('no head')
  })

  it('finds each byte of a file that is not as it was', async () => {
    await prepare()
    await endRun()
    await appendLeaves(at.sql)
    await sign(NEXT)
    receipt = await receiptOf(String(receipt.leaf['id']))
    expect(receipt.keys).toHaveLength(1)
    const text = Buffer.from(JSON.stringify(receipt))
    fc.assert(
      fc.property(fc.nat(text.length - 1), fc.integer({ min: 1, max: 255 }), (place, mask) => {
        const changed = Buffer.from(text)
        changed[place] = (changed[place] ?? 0) ^ mask
        const isEqual = (() => {
          try {
            expect(JSON.parse(changed.toString())).toEqual(receipt)
            return true
          } catch {
            return false
          }
        })()
        expect(verify(write('bytes.json', changed.toString()), '--key', trusted).code).toBe(
          isEqual ? 0 : 2,
        )
      }),
      { numRuns: isLong ? 10_000 : 100 },
    )
  })
})
