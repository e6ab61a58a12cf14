import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ProgressEvent } from '../../../../services/platform/runs/run-queue.ts'
import { completeRun, failRun, takeRuns } from '../../../../services/platform/runs/run-queue.ts'
import { parkRun } from '../../../../services/platform/runs/run-approvals.ts'
import { appendCrewLog } from '../../../../services/platform/crews/crew-logs.ts'
import { deploySource } from '../../../../services/platform/crews/crew-deployments.ts'
import { createOwnAutomation } from '../../../../services/platform/crews/own-crews.ts'
import { expectAccessible } from '../../../support/axe.ts'
import { seedSource } from '../../../support/own-crew.ts'
import { recordEvent } from '../../../support/record-event.ts'
import { kickoff, stopRun } from '../../../../services/platform/runs/runs.ts'
import { publishTexts } from '../../../../services/platform/runs/run-texts.ts'
import { hasNoBrowser, openConsole } from '../support/console.ts'
import type { Console } from '../support/console.ts'
import { isLong } from '../../../support/long.ts'

describe.skipIf(hasNoBrowser)('a live page in a browser', () => {
  let site: Console

  beforeAll(async () => {
    site = await openConsole()
  })

  afterAll(() => site.close())

  /** A run that goes on, with one step, and its page. */
  async function openRun({ javaScriptEnabled = true } = {}) {
    const { sql, acme } = site.platform
    const inputs = { topic: 'whales' }
    // On a slow machine the lease of a run of another test may end, and it would be taken again.
    await sql`delete from executions`
    const id = await kickoff(sql, { deploymentId: acme.research.id, inputs })
    const [lease] = await takeRuns(sql, 1)
    if (!lease) throw new Error('nothing to take')
    const tell = (position: number, event: ProgressEvent) =>
      recordEvent(sql, lease, { position, event })
    await tell(0, { type: 'task_completed', output: `# Found\n\n${'words '.repeat(40)}` } as never)
    const permissions = ['clipboard-read', 'clipboard-write']
    const page = await site.open(acme, { javaScriptEnabled, permissions })
    const complaints: string[] = []
    page.on('console', (message) => complaints.push(message.text()))
    await page.goto(
      `${site.service.url}/automations/${acme.research.automationId}/executions/${id}`,
    )
    return { page, lease, tell, complaints }
  }

  const now = new Date().toISOString()
  const times = { started_at: now, ended_at: now }

  const announced = (page: Page) => page.locator('#announcer')

  it('shows what models are writing until the run has it as a whole', async () => {
    const { page, lease, complaints } = await openRun()
    const { sql } = site.platform
    const text = { run: lease.id, step: 's1', task: 'research', agent: 'researcher' }
    const box = page.locator('.writing pre')
    const said = 'Whales <script>alert(1)</script> sing.'
    // More than once: the service may still be connecting to the channel.
    const hear = async (): Promise<string[]> => {
      await publishTexts(sql, [{ ...text, offset: 0, text: said }])
      return box.allTextContents()
    }
    await expect.poll(hear).toEqual([said])
    await publishTexts(sql, [{ ...text, offset: said.length, text: ' And sleep.' }])
    await expect.poll(() => box.textContent()).toBe(`${said} And sleep.`)
    await completeRun(sql, lease, { output: said, usage: { inputTokens: 1, outputTokens: 1 } })
    await box.waitFor({ state: 'detached' })
    expect(complaints).toEqual([])
  })

  it('removes what a model wrote with the end of its call, while another one writes', async () => {
    const { page, lease, tell } = await openRun()
    const { sql } = site.platform
    const boxes = page.locator('.writing p')
    const write = (step: string, task: string) =>
      publishTexts(sql, [{ run: lease.id, step, task, agent: 'researcher', offset: 0, text: step }])
    const hear = async (): Promise<string[]> => {
      await write('s1', 'find')
      await write('s2', 'check')
      // The first one that is heard, which may be the second, is the first on the page.
      return (await boxes.allTextContents()).toSorted()
    }
    const both = ['researcher is writing (check)', 'researcher is writing (find)']
    await expect.poll(hear).toEqual(both)
    await tell(1, { type: 'llm_call', step: 's1', task: 'find', ...times })
    // Neither has been quiet.
    await expect.poll(hear).toEqual(['researcher is writing (check)'])
    await page.context().close()
  })

  it('counts time and tokens while the run goes on, by the clock of the platform', async () => {
    const { page, lease, tell } = await openRun()
    const { sql } = site.platform
    await page.clock.install()
    await sql`
      update executions set started_at = now() - interval '65 seconds' where id = ${lease.id}`
    await page.reload()
    const fact = (name: string) => page.locator('.statistics div', { hasText: name }).locator('dd')
    expect(await fact('Duration').textContent()).toMatch(/^1 min \ds?/)
    await page.clock.fastForward('02:00')
    await expect.poll(() => fact('Duration').textContent()).toMatch(/^3 min /)
    expect(await fact('Input tokens').textContent()).toBe('–')
    await tell(1, { type: 'llm_call', input_tokens: 1200, output_tokens: 30, ...times })
    await tell(2, { type: 'llm_call', input_tokens: 34, ...times })
    await expect.poll(() => fact('Input tokens').textContent()).toBe('1,234')
    expect(await fact('Output tokens').textContent()).toBe('30')
    await page.context().close()
  })

  it('shows each step as it comes, keeps its panel open, and tells screen readers', async () => {
    const { page, lease, tell, complaints } = await openRun()
    expect(await page.getByRole('link', { name: 'Refresh' }).isVisible()).toBe(false)
    const steps = page.getByRole('listitem').filter({ has: page.locator('.chip') })
    await steps.nth(0).getByRole('button').first().click()
    const heading = page.getByRole('heading', { name: 'Found' })
    await heading.waitFor()

    await tell(1, { type: 'task_started' })
    await steps.nth(1).waitFor()
    expect(await steps.nth(1).innerText()).toContain('running')
    expect(await announced(page).textContent()).toBe('Task started')
    expect(await heading.isVisible()).toBe(true)
    expect(await page.getByText('Running', { exact: true }).isVisible()).toBe(true)

    await page.getByRole('link', { name: 'Stop' }).focus()
    const usage = { inputTokens: 7, outputTokens: 5 }
    await completeRun(site.platform.sql, lease, { output: '**Whales** sing.', usage })
    await page.getByRole('button', { name: 'Run again' }).waitFor()
    expect(await page.locator('strong', { hasText: 'Whales' }).isVisible()).toBe(true)
    expect(await announced(page).textContent()).toBe('Run completed')
    expect(await heading.isVisible()).toBe(true)
    expect(await page.evaluate('document.activeElement.textContent')).toContain('Edit inputs')
    expect(complaints).toEqual([])
    await page.context().close()
  })

  it('has the log of a deployment in a pane that follows its end, and breaks no rule', async () => {
    const { sql, acme } = site.platform
    const { organizationId, userId: createdBy } = acme
    const own = await createOwnAutomation(sql, { organizationId, name: 'Logs' })
    const source = await seedSource(sql, acme)
    const key = { deploymentId: own.id, createdBy }
    const { id, number } = await deploySource(sql, key, source.id)
    const write = (text: string) =>
      appendCrewLog(sql, { crewDeploymentId: id, stream: 'build' }, text)
    await write('\u001b[31mInstalling\u001b[0m\n'.repeat(200))
    const page = await site.open(acme, { viewport: { width: 1280, height: 900 } })
    await page.goto(`${site.service.url}/automations/${own.automationId}/deployments/${number}`)
    const pane = page.locator('pre.log').first()
    const toEnd = () =>
      pane.evaluate((log) => log.scrollHeight - log.clientHeight - log.scrollTop < 2)
    expect((await pane.boundingBox())?.height).toBeLessThan(600)
    expect(await toEnd()).toBe(true)
    await write('Resolved 12 packages\n')
    await expect.poll(() => pane.textContent()).toContain('Resolved 12 packages')
    expect(await toEnd()).toBe(true)
    const title = await pane.locator('time').last().getAttribute('title')
    expect(title).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/)
    await expectAccessible(page, [390, 1024])
    await page.context().close()
  })

  it('shows in the graph how far each task is, and breaks no rule meanwhile', async () => {
    const { page, lease, tell, complaints } = await openRun()
    const states = (): Promise<unknown> =>
      page.evaluate(
        "[...document.querySelectorAll('.crew-graph g')].map((task) => task.className.baseVal)",
      )
    const task = (key: string) => ({
      task: key,
      agent: 'x',
      agent_role: 'X',
      description: '',
      at: now,
    })
    await tell(1, { type: 'task_started', ...task('research') } as never)
    await expect.poll(states).toEqual(['running', ''])
    await tell(2, { type: 'task_completed', ...task('research'), output: 'Facts.' } as never)
    await tell(3, { type: 'task_started', ...task('write') } as never)
    await expect.poll(states).toEqual(['done', 'running'])
    const steps = page.getByRole('listitem').filter({ has: page.locator('.chip') })
    await steps.nth(0).getByRole('button').first().click()
    await page.getByRole('heading', { name: 'Found' }).waitFor()
    await expectAccessible(page, [390])
    const failure = { code: 'llm_unreachable', message: 'The model cannot be reached.' }
    await failRun(site.platform.sql, lease, failure)
    await expect.poll(states).toEqual(['done', 'failed'])
    expect(complaints).toEqual([])
    await page.context().close()
  })

  it.runIf(isLong)('copies the output as it was written', async () => {
    const { page, lease } = await openRun()
    const usage = { inputTokens: 7, outputTokens: 5 }
    await completeRun(site.platform.sql, lease, { output: '**Whales** sing.', usage })
    const output = page.getByRole('region', { name: 'Output' })
    await output.getByRole('button', { name: 'Copy' }).click()
    await output.getByRole('button', { name: 'Copied' }).waitFor()
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe('**Whales** sing.')
    await page.getByText('Run with curl').click()
    await page.getByRole('region', { name: 'Inputs' }).getByRole('button', { name: 'Copy' }).click()
    await page.getByRole('region', { name: 'Inputs' }).getByText('Copied').waitFor()
    expect(await page.evaluate('navigator.clipboard.readText()')).toContain('"topic":"whales"')
    await page.context().close()
  })

  it('keeps what a person writes about an approval while other steps come', async () => {
    const { page, lease } = await openRun()
    const { sql } = site.platform
    await parkRun(sql, lease, { step: 'a'.repeat(32), task: 'research', output: '**Whales**' })
    await page.getByText('Edit', { exact: true }).click()
    const output = page.getByRole('textbox', { name: 'Output' })
    expect(await output.inputValue()).toBe('**Whales**')
    await output.fill('Owls')
    const event = JSON.stringify({ type: 'task_started', task: 'other' })
    await sql`
      insert into execution_events (execution_id, attempt, position, event)
      values (${lease.id}, ${lease.attempt}, 1, ${event}::text::jsonb)`
    await page.getByText('running').waitFor()
    expect(await output.inputValue()).toBe('Owls')
    await page.getByRole('button', { name: 'Save the edited output' }).click()
    await page.getByText('The decision is saved').waitFor()
    expect(page.url()).toContain(lease.id)
    const [decided] = await sql`select answer from run_approvals where run_id = ${lease.id}`
    expect(decided).toEqual({ answer: 'Owls' })
    await stopRun(sql, lease.id)
    await page.context().close()
  })

  it('offers to refresh when the session is over', async () => {
    const { page, complaints } = await openRun()
    await site.platform.sql`delete from sessions`
    await page.getByRole('link', { name: 'Refresh' }).waitFor()
    expect(await announced(page).textContent()).toContain('Refresh the page')
    expect(complaints).toEqual([])
    await page.context().close()
  })

  it('is refreshed, run again and edited without JavaScript as well', async () => {
    const { page, lease, tell } = await openRun({ javaScriptEnabled: false })
    await tell(1, { type: 'task_started' })
    await page.getByRole('link', { name: 'Refresh' }).click()
    await page.getByRole('listitem').getByText('running').waitFor()
    await page.locator('button.step-line').first().click()
    const found = page.getByRole('heading', { name: 'Found' })
    await found.waitFor()
    await page.keyboard.press('Escape')
    await found.waitFor({ state: 'hidden' })
    await page.getByRole('link', { name: 'Stop' }).click()
    await page.getByRole('button', { name: 'Stop' }).click()
    expect(await page.getByRole('status').innerText()).toContain('is stopped')
    await page.getByRole('link', { name: 'Edit inputs and run' }).click()
    expect(await page.getByLabel('topic').inputValue()).toBe('whales')
    await page.goBack()
    await page.getByRole('button', { name: 'Run again' }).click()
    await page.waitForURL((url) => !url.pathname.includes(lease.id))
    expect(await page.getByRole('region', { name: 'Inputs' }).innerText()).toContain('whales')
    await page.context().close()
  })
})
