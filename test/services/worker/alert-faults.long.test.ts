import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Webhook as Receiver } from 'standardwebhooks'
import { expect, it } from 'vitest'
import { createAlert } from '../../../services/platform/alerts/alerts.ts'
import { lookAtAlerts } from '../../../services/platform/alerts/look-at-alerts.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { createRandom } from '../../bench/support/requests.ts'
import { killWhile } from '../../faults/webhooks/run-webhook-faults.ts'
import { startDatabaseProxy } from '../../support/database-proxy.ts'
import { seedAutomation } from '../../support/platform.ts'
import { useDatabase } from '../../support/use-database.ts'

const database = useDatabase()
const KILLS = 100
const START = Date.UTC(2026, 5, 1)

interface Sent {
  readonly type: string
  readonly timestamp: string
}

/** What was accepted, by ids: the first is what counts, and those after it have to be equal. */
async function readLedger(ledger: string, secret: string) {
  const receiver = new Receiver(secret)
  const accepted = new Map<string, string>()
  let [repeated, changed] = [0, 0]
  for (const line of (await readFile(ledger, 'utf8')).split('\n')) {
    if (!line.endsWith('}')) continue
    const { headers, body } = JSON.parse(line) as { headers: Record<string, string>; body: string }
    receiver.verify(body, headers)
    const id = String(headers['webhook-id'])
    const before = accepted.get(id)
    if (before === undefined) accepted.set(id, body)
    else repeated += 1
    if (before !== undefined && before !== body) changed += 1
  }
  const sent = [...accepted.values()].map((body) => JSON.parse(body) as Sent)
  return { sent, repeated, changed }
}

it('an alert says each change to a receiver, under one id, whatever is killed', async () => {
  const { sql, url } = database
  const directory = await mkdtemp(join(tmpdir(), 'alerts-'))
  const seed = Math.floor(Math.random() * 1e9)
  const random = createRandom(seed)
  const automation = await seedAutomation(sql, { organization: 'Acme', slug: 'research' })
  await createAlert(sql, automation.organizationId, {
    name: 'Fails',
    watches: 'failure_share',
    automation: null,
    deploymentId: null,
    windowMinutes: 5,
    filter: '',
    threshold: 50,
    resolvesBelow: null,
    forMinutes: 0,
    minimum: 1,
    mail: [],
  })
  let [rounds, before, after] = [0, 0, 0]
  /** Each change of state is looked at by one that is killed, and then by another one. */
  const change = async (): Promise<void> => {
    const [at, isFailure] = [new Date(START + 600_000 * rounds), rounds % 2 === 0]
    rounds += 1
    await sql`
      insert into executions (deployment_id, inputs, status, finished_at, output, error)
      values (${automation.id}, '{}', ${isFailure ? 'error' : 'completed'}, ${at},
        ${isFailure ? null : ''}, ${isFailure ? sql.json({}) : null})`
    let lose = (): void => {}
    const lost = new Promise<undefined>((resolve) => (lose = () => resolve(undefined)))
    const proxy = await startDatabaseProxy(url, () => lose())
    // The answer to a commit is lost: it has happened, and the one who looked does not know.
    const isLate = random() < 0.5
    const address = parseAddress(isLate ? proxy.url : url)
    const killed = connectDatabase(address, { name: 'killed', max: 1 })
    const [{ pid }] = await killed<[{ pid: number }]>`select pg_backend_pid() as pid`
    if (isLate) proxy.cutWhen((answer) => answer.includes('COMMIT'))
    const looking = lookAtAlerts(killed, { at }).catch(() => undefined)
    if (!isLate) await delay(random() * 15)
    if (!isLate) await sql`select pg_terminate_backend(${pid}, 10000)`
    // The driver waits without end for a connection that was cut within a transaction.
    const isCut = (await Promise.race([looking, lost])) === undefined
    await killed.end({ timeout: 0 })
    await proxy.close()
    const isDoneNow = (await lookAtAlerts(sql, { at })) === 1
    if (isCut && isDoneNow) before += 1
    if (isCut && !isDoneNow) after += 1
  }
  const options = { sql, databaseUrl: url, automation, directory, kills: KILLS, seed }
  const { ledger, secret } = await killWhile(options, async (isDone) => {
    while (!isDone() || before + after < KILLS) await change()
  })
  const { sent, repeated, changed } = await readLedger(ledger, secret)
  console.log(
    `seed ${seed}: ${rounds} changes, looks killed ${before} times before their commit and ` +
      `${after} times after it, senders and receiver ${KILLS} times; ${repeated} messages repeated`,
  )
  expect(changed).toBe(0)
  expect(after).toBeGreaterThan(10)
  const expected = Array.from({ length: rounds }, (_, round) => ({
    type: round % 2 === 0 ? 'alert_firing' : 'alert_resolved',
    timestamp: new Date(START + 600_000 * round).toISOString(),
  }))
  expect(sent.map(({ type, timestamp }) => ({ type, timestamp }))).toEqual(expected)
  await rm(directory, { recursive: true })
}, 900_000)
