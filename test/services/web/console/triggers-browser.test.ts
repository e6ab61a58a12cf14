import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stripeHeaders } from '../intake/triggers/senders.ts'
import { hasNoBrowser, openConsole } from '../support/console.ts'
import type { Console } from '../support/console.ts'

const SECRET = 'whsec_that_stripe_shows_for_the_endpoint'
const FAILED = JSON.stringify({
  id: 'evt_1',
  type: 'invoice.payment_failed',
  data: { object: { number: 'A-7', customer_email: 'grace@example.com' } },
})

describe.skipIf(hasNoBrowser)('the walk of the manual, from a Stripe event to a run', () => {
  let site: Console

  beforeAll(async () => {
    site = await openConsole()
  })
  afterAll(() => site.close())

  it('ends at a run with the inputs of the event', async () => {
    const { acme } = site.platform
    const page = await site.open(acme)
    await page.goto(`${site.service.url}/automations/${acme.research.automationId}/integrate`)
    await page.getByRole('link', { name: 'Manage triggers' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Failed payments')
    await page.getByLabel('Signed by').selectOption({ label: 'Stripe' })
    await page.getByLabel('Filter').fill("@.body.type == 'invoice.payment_failed'")
    const topic =
      'Invoice {{ $.body.data.object.number }} of {{ $.body.data.object.customer_email }}'
    await page.getByLabel('Inputs').fill(JSON.stringify({ topic }))
    await page.getByRole('button', { name: 'Create' }).click()
    const address = await page
      .getByRole('region', { name: 'Address' })
      .locator('code')
      .textContent()
    await page.getByLabel('Secret of the sender').fill(SECRET)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('The trigger is saved.').waitFor()

    const sent = { method: 'POST', headers: stripeHeaders(SECRET, FAILED), body: FAILED }
    expect((await fetch(address ?? '', sent)).status).toBe(202)

    await page.reload()
    await page.getByRole('button', { name: 'Try on the last deliveries' }).click()
    await page.getByRole('region', { name: 'With the last deliveries' }).getByText('A-7').waitFor()
    await page.getByRole('link', { name: 'evt_1' }).click()
    await page.getByRole('button', { name: 'Start again' }).click()
    await page.getByText('Invoice A-7 of grace@example.com').first().waitFor()
    expect(
      await site.platform.sql`select inputs, trigger from executions order by queued_at`,
    ).toEqual(
      ['event', 'console'].map((trigger) => ({
        inputs: { topic: 'Invoice A-7 of grace@example.com' },
        trigger,
      })),
    )
  })
})
