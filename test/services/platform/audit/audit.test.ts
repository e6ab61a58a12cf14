import { beforeEach, describe, expect, it } from 'vitest'
import { OPERATOR, writeAudit } from '../../../../services/platform/audit/audit.ts'
import type { Actor, AuditEntry } from '../../../../services/platform/audit/audit.ts'
import { inTransaction } from '../../../../services/shared/postgres/database.ts'
import { useDatabase } from '../../../support/use-database.ts'

const database = useDatabase()

const ada: Actor = {
  kind: 'person',
  id: '7',
  name: 'ada@acme.test',
  organizationId: 3,
  address: '192.0.2.1',
  requestId: 'request-1',
}
const entry: AuditEntry = {
  action: 'webhook_changed',
  target: { kind: 'webhook', id: 'w1', name: 'https://hooks.test' },
}

const write = (by: Actor, written: AuditEntry) =>
  database.sql.begin((tx) => writeAudit(tx, by, written))
const rows = () => database.sql`select * from audit_entries order by id`

beforeEach(async () => {
  await database.sql`alter table audit_entries disable trigger audit_is_not_truncated`
  await database.sql`truncate audit_entries`
  await database.sql`alter table audit_entries enable trigger audit_is_not_truncated`
})

describe('an entry of the audit', () => {
  it('says who did what to what, from where, and which fields differ', async () => {
    const before = { url: 'https://old.test', types: ['a'] }
    await write(ada, { ...entry, before, after: { url: 'https://new.test', types: ['a'] } })
    expect(await rows()).toMatchObject([
      {
        organizationId: 3,
        actorKind: 'person',
        actorId: '7',
        actorName: 'ada@acme.test',
        action: 'webhook_changed',
        refused: false,
        targetKind: 'webhook',
        targetId: 'w1',
        targetName: 'https://hooks.test',
        before: { url: 'https://old.test' },
        after: { url: 'https://new.test' },
        address: '192.0.2.1',
        requestId: 'request-1',
      },
    ])
  })

  it('stays small, whatever it is told', async () => {
    const long = `${'x'.repeat(499)}😀\0${'y'.repeat(1e6)}`
    const after = { long, many: Array.from({ length: 1000 }, () => long), odd: '\0' }
    const name = '😀'.repeat(1000)
    await write({ ...ada, name, id: long }, { ...entry, target: { kind: 'x', id: long }, after })
    const [row] = await rows()
    expect(JSON.stringify(row).length).toBeLessThan(40_000)
    expect(row?.['actorName']).toBe('😀'.repeat(300))
  })

  it('is there exactly when the change is', async () => {
    const change = (fails: boolean) =>
      inTransaction(database.sql, async (tx) => {
        await tx`insert into organizations (name) values ('Globex')`
        await writeAudit(tx, OPERATOR, entry)
        if (fails) throw new Error('killed')
      })
    await expect(change(true)).rejects.toThrow('killed')
    const count = async () => [
      (await rows()).length,
      (await database.sql`select from organizations where name = 'Globex'`).length,
    ]
    expect(await count()).toEqual([0, 0])
    await change(false)
    expect(await count()).toEqual([1, 1])
  })

  it('is never changed, and deleted by the retention only', async () => {
    await write(ada, entry)
    const refused = 'entries of the audit are never changed'
    await expect(database.sql`update audit_entries set actor_name = 'eve'`).rejects.toThrow(refused)
    await expect(database.sql`delete from audit_entries`).rejects.toThrow(refused)
    await expect(database.sql`truncate audit_entries`).rejects.toThrow(refused)
    expect(await rows()).toHaveLength(1)
  })
})
