import { readFile } from 'node:fs/promises'
import { Webhook as Receiver } from 'standardwebhooks'
import type { Database } from '../../../services/shared/postgres/database.ts'

export interface WebhookAudit {
  /** Events that runs told of, their ends included. */
  readonly events: number
  /** Messages that the receiver accepted. */
  readonly received: number
  /** Of those, what it had accepted before; it is the price of losing nothing. */
  readonly repeated: number
  readonly lost: number
  /** Events that came for the first time after a later one of their run. */
  readonly disordered: number
  /** Events that came under another id, or with another content, than before. */
  readonly changed: number
  /** The receiver has each event, in order, each under one id. */
  readonly isRight: boolean
}

interface Message {
  readonly data: { readonly kickoff_id: string; readonly number: number }
}

/**
 * Holds the ledger of a receiver against the events of the database. Raises an error for a message
 * that is not signed with the key.
 */
export async function auditLedger(
  sql: Database,
  ledger: string,
  secret: string,
): Promise<WebhookAudit> {
  const known = new Map<string, string>()
  const newest = new Map<string, number>()
  const receiver = new Receiver(secret)
  const lines = (await readFile(ledger, 'utf8')).split('\n').filter((line) => line.endsWith('}'))
  let [repeated, disordered, changed] = [0, 0, 0]
  for (const line of lines) {
    const { headers, body } = JSON.parse(line) as { headers: Record<string, string>; body: string }
    const { kickoff_id: id, number } = (receiver.verify(body, headers) as Message).data
    const sent = `${headers['webhook-id']} ${body}`
    const before = known.get(`${id} ${number}`)
    if (before === undefined) {
      known.set(`${id} ${number}`, sent)
      if (number <= (newest.get(id) ?? 0)) disordered += 1
      newest.set(id, Math.max(number, newest.get(id) ?? 0))
    } else {
      repeated += 1
      if (before !== sent) changed += 1
    }
  }
  const told = await sql<{ key: string }[]>`
    select execution_id || ' ' || number as key from execution_events
    union all
    select e.id || ' ' || (select count(*) + 1 from execution_events where execution_id = e.id)
    from executions e where finished_at is not null`
  const lost = told.filter(({ key }) => !known.has(key)).length
  const isRight = lost + disordered + changed === 0 && known.size === told.length
  const received = lines.length
  return { events: told.length, received, repeated, lost, disordered, changed, isRight }
}
