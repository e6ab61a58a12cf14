import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { asLeader } from '../../../../services/collector/store/as-leader.ts'
import type { Led } from '../../../../services/collector/store/as-leader.ts'
import { parseAddress } from '../../../../services/shared/postgres/address.ts'
import { openCopyConnection } from '../../../../services/shared/postgres/copy/copy-connection.ts'
import type { CopyConnection } from '../../../../services/shared/postgres/copy/copy-connection.ts'
import { createDatabase } from '../../../support/postgres.ts'
import type { TestDatabase } from '../../../support/postgres.ts'
import { until } from '../../../support/until.ts'

const WORK: Led = { restMs: 0, isIdle: false, isUnsent: false }
const NOTHING: Led = { restMs: 0, isIdle: true, isUnsent: false }
const UNSENT: Led = { restMs: 0, isIdle: false, isUnsent: true }
let lastLock = 0

describe('of two collectors that take turns', () => {
  let database: TestDatabase
  let connections: readonly [CopyConnection, CopyConnection]
  beforeAll(async () => {
    database = await createDatabase()
    const open = () => openCopyConnection(parseAddress(database.url), { name: 'turns' })
    connections = [await open(), await open()]
  })
  afterAll(async () => {
    for (const connection of connections) connection.close()
    await database.drop()
  })

  /** Two that take turns, what their next turn finds, and who took turns. */
  function open() {
    lastLock += 1
    const taken: string[] = []
    const found: Record<string, Led | Error> = { one: WORK, other: WORK }
    const collector = (name: string) =>
      asLeader(lastLock, async () => {
        taken.push(name)
        const rest = found[name] ?? WORK
        if (rest instanceof Error) throw rest
        return rest
      })
    return { taken, found, one: collector('one'), other: collector('other') }
  }

  it('one takes all, also between its turns, until it finds nothing to do', async () => {
    const { taken, found, one, other } = open()
    const [first, second] = connections
    await one(first)
    expect(await other(second)).toEqual({ restMs: 250, isIdle: false })
    await one(first)
    await other(second)
    expect(taken).toEqual(['one', 'one'])
    found['one'] = NOTHING
    expect(await one(first)).toBe(NOTHING)
    expect(await other(second)).toBe(WORK)
    await one(first)
    expect(taken).toEqual(['one', 'one', 'one', 'other'])
  })

  it('the other takes over once nobody sends to one', async () => {
    const { taken, found, one, other } = open()
    const [first, second] = connections
    found['one'] = UNSENT
    await one(first)
    await other(second)
    await one(first)
    expect(taken).toEqual(['one', 'other'])
  })

  it('the other takes over when a turn of one fails', async () => {
    const { taken, found, one, other } = open()
    const [first, second] = connections
    found['one'] = new Error('no')
    await expect(one(first)).rejects.toThrow('no')
    await other(second)
    expect(taken).toEqual(['one', 'other'])
  })

  it('the other takes over when the connection of one is lost, which then waits', async () => {
    const { taken, one, other } = open()
    const [, second] = connections
    const lost = await openCopyConnection(parseAddress(database.url), { name: 'lost' })
    await one(lost)
    lost.close()
    await until(async () => (await other(second)) === WORK)
    await one(connections[0])
    expect(taken).toEqual(['one', 'other'])
  })
})
