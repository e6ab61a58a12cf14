import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createProject } from '../../../../../services/platform/projects/projects.ts'
import { expectAccessible } from '../../../../support/axe.ts'
import { hasNoBrowser, openConsole } from '../../support/console.ts'
import type { Console } from '../../support/console.ts'

describe.skipIf(hasNoBrowser)('the editor of a version in a browser', () => {
  let site: Console
  let page: Page

  beforeAll(async () => {
    site = await openConsole()
    const { organizationId } = site.platform.acme
    const { id } = await createProject(site.platform.sql, { organizationId, name: 'Edited' })
    page = await site.open(site.platform.acme, { viewport: { width: 1280, height: 900 } })
    await page.goto(`${site.service.url}/projects/${id}/new-version`)
    // The script has run once it offers to open a file.
    await page.getByText('Open a file').waitFor()
  })

  afterAll(() => site.close())

  const text = () => page.getByLabel('Definition (JSON)')

  it('shows on each side what is typed on the other, and what is wrong', async () => {
    await page.getByLabel('Role').fill('')
    await page.getByText('agents[0].role: must not be empty').waitFor()
    await expectAccessible(page)
    await page.getByLabel('Role').fill('Poet')
    await page.getByText('Valid', { exact: true }).waitFor()
    const given = JSON.parse(await text().inputValue())
    expect(given.agents[0].role).toBe('Poet')
    await text().fill(JSON.stringify({ ...given, llm: { model: 'from-the-text' } }))
    await page.locator('[name="llm.model"][value="from-the-text"]').waitFor()
  })

  /** Waits for the answer of the server to what is done, until the page has it. */
  async function settled(act: () => Promise<unknown>): Promise<string> {
    const answer = page.waitForResponse((each) => each.url().endsWith('/editor'), {
      timeout: 20_000,
    })
    const [response] = await Promise.all([answer, act()])
    const { text: shown } = (await response.json()) as { text: string }
    await expect.poll(() => page.locator('[name="base"]').inputValue()).toBe(shown)
    return text().inputValue()
  }

  /** The definition that the fields say. */
  const inFields = (): Promise<unknown> =>
    page.evaluate(`(async () => {
      const form = document.querySelector('[data-editor]')
      const body = new URLSearchParams(new FormData(form))
      body.set('act', 'show-form')
      return (await (await fetch(form.dataset.editor, { method: 'POST', body })).json()).text
    })()`)
  /** Types into a field of an entry, which may be closed. */
  const typeGoal = (goal: string): Promise<unknown> =>
    page.evaluate(`(() => {
      const field = document.querySelector('[name="agents.0.goal"]')
      field.value = ${JSON.stringify(goal)}
      field.dispatchEvent(new Event('input', { bubbles: true }))
    })()`)
  const undo = () => page.getByRole('button', { name: 'Undo' })

  it('takes back one change after the other, on both sides, exactly', async () => {
    const whole = JSON.parse(await text().inputValue()) as object
    const changes: readonly (() => Promise<unknown>)[] = [
      () => typeGoal('Goal “ä” \\n  '),
      () => page.getByRole('button', { name: 'Add a task' }).click(),
      () => text().fill('{"name": "half",'),
      () => text().fill(JSON.stringify({ ...whole, name: 'In one line', unknown: [1e21] })),
      () => page.getByRole('button', { name: 'Add an agent' }).click(),
      () => text().fill('[1, 2]'),
      () => text().fill(JSON.stringify(whole, null, 8)),
      () => typeGoal(''),
    ]
    const former = [await text().inputValue()]
    for (const change of changes) former.push(await settled(change))
    for (const before of former.slice(0, -1).toReversed()) {
      expect(await settled(() => undo().click())).toBe(before)
      if (!/"agents"/.test(before)) continue
      expect(JSON.parse(String(await inFields()))).toEqual(JSON.parse(before))
    }
  })

  it('takes back what was just typed, and no more', async () => {
    const before = await settled(() => typeGoal('Before'))
    const typed = async () => {
      await typeGoal('Typed')
      await undo().click()
    }
    expect(await settled(typed)).toBe(before)
    expect(await page.locator('[name="agents.0.goal"]').inputValue()).toBe('Before')
  })

  it('adds and removes entries in place, and saves the draft', async () => {
    await page.getByRole('button', { name: 'Add an agent' }).click()
    await page.locator('[name="agents.1.role"]:focus').waitFor()
    await page.getByRole('button', { name: 'Remove New agent' }).click()
    await page.locator('[name="agents.1.role"]').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.locator('[name="agents.1.role"]').waitFor({ state: 'attached' })
    await page.locator('[data-fold="agents.1"] > summary').click()
    await page.getByRole('button', { name: 'Remove New agent' }).click()
    await page.locator('[name="agents.1.role"]').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Add the draft', exact: true }).click()
    await page.getByText('The draft is added.').waitFor()
    expect(await page.locator('[name="llm.model"]').inputValue()).toBe('from-the-text')
  })
})
