import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { saveScoreRule } from '../../../../services/platform/evaluations/score-rules.ts'
import { expectAccessible } from '../../../support/axe.ts'
import { hasNoBrowser, openConsole } from '../support/console.ts'
import type { Console } from '../support/console.ts'

describe.skipIf(hasNoBrowser)('the queue of reviews by keys', () => {
  let site: Console
  let page: Page
  let path: string

  beforeAll(async () => {
    site = await openConsole()
    const { sql, acme } = site.platform
    const { research } = acme
    await saveScoreRule(sql, research, { reviewedShare: 100, scoredShare: 0, checks: [] })
    for (const output of ['One.', 'Two.', 'Three.', 'Four.']) {
      await sql`
        insert into executions (deployment_id, inputs, status, output, finished_at)
        values (${research.id}, '{}', 'completed', ${output}, now())`
    }
    path = `${site.service.url}/automations/${research.automationId}/reviews`
    page = await site.open(acme)
  })

  afterAll(() => site.close())

  const shown = async (): Promise<string> => {
    await page.getByText('Keys: + good').waitFor()
    return (await page.locator('.output').innerText()).trim()
  }
  const ratings = async () =>
    (
      await site.platform.sql<{ rating: number; note: string }[]>`
      select rating, note from trace_notes order by id`
    ).map((each) => [each.rating, each.note])

  it('goes on and back, rates, writes notes, and lists its keys', async () => {
    await page.goto(path)
    const first = await shown()
    await page.keyboard.press('j')
    await page.waitForURL('**?after=*')
    const second = await shown()
    expect(second).not.toBe(first)
    await page.keyboard.press('k')
    await page.waitForURL('**?before=*')
    expect(await shown()).toBe(first)
    await page.keyboard.press('?')
    await page.getByText('The answer is bad').waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Close' }).click()
    await page.keyboard.press('n')
    await page.keyboard.type('+ - j k')
    await page.keyboard.press('Escape')
    await page.keyboard.press('-')
    await page.getByText('The rating is saved.').waitFor()
    expect(await ratings()).toEqual([[-1, '+ - j k']])
    expect(await shown()).toBe(second)
    await page.keyboard.press('j')
    await page.waitForURL(/\?after=[^&]*$/)
    await shown()
    await page.keyboard.press('+')
    await page.getByText('The rating is saved.').waitFor()
    // Those that were skipped come again after the others.
    expect(await shown()).not.toBe(second)
    expect(await ratings()).toEqual([
      [-1, '+ - j k'],
      [1, ''],
    ])
  })

  it('does without a script', async () => {
    const plain = await site.open(site.platform.acme, { javaScriptEnabled: false })
    await plain.goto(path)
    const first = await plain.locator('.output').innerText()
    await plain.getByRole('link', { name: 'Skip', exact: true }).click()
    await plain.getByRole('link', { name: 'Previous', exact: true }).click()
    expect(await plain.locator('.output').innerText()).toBe(first)
    expect(await plain.getByText('Keys: + good').isVisible()).toBe(false)
    await plain.getByRole('button', { name: 'Bad' }).click()
    await plain.getByText('The rating is saved.').waitFor()
    expect(await ratings()).toHaveLength(3)
  })
})
