import { generateKeyPairSync } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { copyHeads, countForks } from '../../../../services/platform/receipts/copy-heads.ts'
import { digestOf, keyId } from '../../../../services/platform/receipts/receipt-documents.ts'
import type { SignedHead } from '../../../../services/platform/receipts/receipt-documents.ts'
import { canonicalJson } from '../../../../services/shared/canonical-json.ts'
import { createLog } from '../../../../services/shared/log.ts'
import { createDirectoryStore } from '../../../../services/shared/object-store/directory-store.ts'
import { parseAddress } from '../../../../services/shared/postgres/address.ts'
import { connectDatabase } from '../../../../services/shared/postgres/database.ts'
import type { Database } from '../../../../services/shared/postgres/database.ts'
import { signDocument } from '../../../../services/shared/signed-documents.ts'
import { runTask } from '../../../../services/tasks/start.ts'
import { verifyReceipt } from '../../../../services/tasks/verify-receipt.ts'
import { createDatabase } from '../../../support/postgres.ts'
import type { TestDatabase } from '../../../support/postgres.ts'

const LOG = '00000000-0000-4000-8000-000000000001'
const { privateKey, publicKey } = generateKeyPairSync('ed25519')
const KEY = publicKey.export({ format: 'der', type: 'spki' }).toString('hex')
const log = createLog({ name: 'test', level: 'silent' })
let database: TestDatabase
let sql: Database
let directory: string

beforeEach(async () => {
  database = await createDatabase('platform')
  sql = connectDatabase(parseAddress(database.url), { name: 'test' })
  directory = await mkdtemp(join(tmpdir(), 'heads-'))
})

afterEach(async () => {
  await sql.end()
  await database.drop()
  await rm(directory, { recursive: true })
})

/** Heads of these sizes, each of which names the one before. */
function chain(sizes: readonly number[], root = 'aa', after?: SignedHead): SignedHead[] {
  const heads: SignedHead[] = []
  for (const size of sizes) {
    const before = heads.at(-1) ?? after
    const head: SignedHead['head'] = {
      format: 'crew-platform-tree-head/1',
      log: LOG,
      size,
      root: root.repeat(32),
      at: '2026-11-28T10:00:00.000Z',
      previous: before ? digestOf(before.head) : null,
      key: keyId(KEY),
    }
    heads.push({ head, signature: signDocument(head, privateKey) })
  }
  return heads
}

async function keep(heads: readonly SignedHead[]): Promise<void> {
  await sql`delete from receipt_heads`
  for (const { head, signature } of heads) {
    await sql`
      insert into receipt_heads (size, content, signature, signed_at)
      values (${head.size}, ${canonicalJson(head)}, ${Buffer.from(signature, 'hex')}, ${head.at})`
  }
}

const store = () => createDirectoryStore(directory)
const copy = () => copyHeads(sql, store(), log)
const pathOf = (size: number): string =>
  join(directory, 'receipt-heads', LOG, `${String(size).padStart(16, '0')}.json`)

describe('the signed heads in the place of the backups', () => {
  it('are an object each, written once, by a task', async () => {
    const heads = chain([2, 5, 9])
    await keep(heads)
    const source = {
      LOG_LEVEL: 'silent',
      DATABASE_URL: database.url,
      BACKUP_PASSPHRASE: 'the passphrase of these backups',
      BACKUP_DIRECTORY: directory,
    }
    expect(await runTask(['receipts:copy'], source)).toBe(0)
    const names = [2, 5, 9].map((size) => `${String(size).padStart(16, '0')}.json`)
    expect((await readdir(join(directory, 'receipt-heads', LOG))).toSorted()).toEqual(names)
    expect(JSON.parse(await readFile(pathOf(5), 'utf8'))).toEqual(heads[1])
    expect(await copy()).toEqual({ copied: 0, forks: 0 })
    // After a restore of the database, the same heads are no forks.
    await keep(heads)
    expect(await copy()).toEqual({ copied: 3, forks: 0 })
  })

  it('are never written over: another one is an alarm, and the rest is copied', async () => {
    await keep(chain([2, 5]))
    await copy()
    const theirs = await readFile(pathOf(5), 'utf8')
    await keep(chain([2, 5, 7], 'bb'))
    expect(await copy()).toEqual({ copied: 1, forks: 2 })
    expect(await readFile(pathOf(5), 'utf8')).toBe(theirs)
    expect(await countForks(sql)).toBe(2)
    expect(await copy()).toEqual({ copied: 0, forks: 0 })
    await sql`update receipt_heads set fork_found_at = now() - interval '31 days'`
    expect(await countForks(sql)).toBe(0)
  })

  it('are found out when an object was changed, or is something else', async () => {
    await keep(chain([2, 5]))
    await mkdir(join(directory, 'receipt-heads', LOG), { recursive: true })
    await writeFile(pathOf(2), Buffer.alloc(1 << 20))
    await writeFile(pathOf(5), canonicalJson(chain([2, 5])[1]).replace('"size":5', '"size":6'))
    expect(await copy()).toEqual({ copied: 0, forks: 2 })
  })

  it('lose no race for a name', async () => {
    const wrote = await Promise.all(
      ['one', 'two', 'three'].map((text) => store().writeNew('a/b.json', Buffer.from(text))),
    )
    expect(wrote.filter(Boolean)).toHaveLength(1)
    expect(await readdir(join(directory, 'a'))).toEqual(['b.json'])
  })
})

describe('receipt:verify --heads', () => {
  async function place(name: string, heads: readonly unknown[]): Promise<string> {
    const at = join(directory, name, LOG)
    await mkdir(at, { recursive: true })
    for (const [index, head] of heads.entries()) {
      await writeFile(join(at, `${index}.json`), JSON.stringify(head))
    }
    return join(directory, name)
  }

  function compare(places: readonly string[], ...more: string[]) {
    let [told, problems] = ['', '']
    const output = {
      result: (text: string) => void (told += text),
      problem: (text: string) => void (problems += text),
    }
    const args = [...places.flatMap((each) => ['--heads', each]), '--key', KEY, ...more]
    return { code: verifyReceipt(args, output), told, problems }
  }

  it('finds two places of one log to agree, one of them the log of a worker', async () => {
    const heads = chain([1, 4, 6])
    const bucket = await place('bucket', heads)
    const lines = heads.slice(1).map((head) => JSON.stringify({ msg: 'x', receipt_head: head }))
    const file = join(directory, 'worker.log')
    await writeFile(file, ['{"msg":"other"}', 'no JSON', ...lines, ''].join('\n'))
    expect(compare([bucket, file])).toEqual({
      code: 0,
      told: 'The 3 heads of 2 places are of one log of 6.\n',
      problems: '',
    })
  })

  it('finds a fork of one size, and one of other sizes', async () => {
    const [first, ...rest] = chain([1, 4])
    const ours = await place('ours', [first, ...rest])
    const same = await place('same', [first, ...chain([4], 'bb', first)])
    const other = await place('other', [first, ...chain([5], 'bb', first)])
    expect(compare([ours, same])).toMatchObject({
      code: 2,
      problems: expect.stringContaining('differ, and are both of size 4'),
    })
    expect(compare([ours, other])).toMatchObject({
      code: 2,
      problems: expect.stringMatching(/differ, and both follow [0-9a-f]{64}/),
    })
  })

  it('says that heads in between are missing', async () => {
    const heads = chain([1, 4, 6])
    const [ours, theirs] = [await place('ours', [heads[0]]), await place('theirs', [heads[2]])]
    expect(compare([ours, theirs])).toMatchObject({
      code: 3,
      problems: expect.stringContaining('1 of them follow a head that no place has'),
    })
  })

  it('finds any changed, foreign or damaged head, and says what it needs', async () => {
    const [head] = chain([3])
    const good = await place('good', [head])
    const changed = await place('changed', [{ ...head, head: { ...head?.head, size: 4 } }])
    expect(compare([good, changed]).problems).toContain('the head of size 4 in')
    const broken = await place('broken', [{ ...head, signature: 'ff' }])
    expect(compare([good, broken])).toMatchObject({ code: 2 })
    const stranger = generateKeyPairSync('ed25519').publicKey
    const key = stranger.export({ format: 'der', type: 'spki' }).toString('hex')
    const output = { result: () => {}, problem: () => {} }
    const args = ['--heads', good, '--heads', good, '--key', key]
    expect(verifyReceipt(args, output)).toBe(2)
    expect(() => compare([good])).toThrow('Name two places or more with --heads')
    expect(() => compare([good, good], 'receipt.json')).toThrow('and no FILE')
    expect(() => compare([good, join(directory, 'none')])).toThrow('cannot be read')
  })
})
