import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runWebhookFaults } from '../../faults/webhooks/run-webhook-faults.ts'
import { seedAutomation } from '../../support/platform.ts'
import { useDatabase } from '../../support/use-database.ts'

const database = useDatabase()

/** The short form of `npm run test:long -- faults webhooks`. */
it('tells webhooks of each event, in order, when senders and receivers are killed', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'webhooks-'))
  const seed = Math.floor(Math.random() * 1e9)
  const { sql, url: databaseUrl } = database
  const automation = await seedAutomation(sql, { organization: 'Acme', slug: 'research' })
  const options = { sql, databaseUrl, automation, directory, kills: 5, seed }
  const report = await runWebhookFaults(options)
  expect(report, `seed ${seed}`).toMatchObject({
    lost: 0,
    disordered: 0,
    changed: 0,
    isRight: true,
  })
  expect(report.events).toBeGreaterThan(10)
  await rm(directory, { recursive: true })
}, 180_000)
