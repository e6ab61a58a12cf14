import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { createLog } from '../../../services/shared/log.ts'
import { startWebhookSender } from '../../../services/worker/webhooks/sender.ts'
import { guardFor } from '../../support/outgoing.ts'

/** A worker's sender as a program that can be killed; others take over what it held at once. */
const [url = '', origin = '', secretKeyBase = ''] = process.argv.slice(2)

startWebhookSender({
  sql: connectDatabase(parseAddress(url), { name: 'webhook-sender' }),
  log: createLog({ name: 'webhook-sender', level: 'fatal' }),
  guard: guardFor(origin),
  secretKeyBase,
  onAttempt: () => {},
  tryMs: 500,
  pollMs: 50,
  limits: { leaseSeconds: 1, retrySeconds: Array<number>(10_000).fill(0.05) },
})
process.stdout.write('started\n')
