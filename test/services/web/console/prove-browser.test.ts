import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { start as startCrew } from '../../../../services/crew/start.ts'
import { markOnline } from '../../../../services/platform/automations/automations.ts'
import { ensureInternalCrew } from '../../../../services/platform/crews/internal-crews.ts'
import { INTERNAL_DEFINITIONS } from '../../../../services/platform/definitions/internal-crew-definitions.ts'
import { crewToken } from '../../../../services/shared/crew-token.ts'
import { createLog } from '../../../../services/shared/log.ts'
import { start as startWorker } from '../../../../services/worker/start.ts'
import { definition } from '../../../support/crew.ts'
import { createHarness, SECRET as COLLECTOR_SECRET } from '../../collector/support/harness.ts'
import type { Harness } from '../../collector/support/harness.ts'
import { says, startFakeModel } from '../../crew/fake-model.ts'
import type { Answer, FakeModel } from '../../crew/fake-model.ts'
import { hasNoBrowser, openConsole } from '../support/console.ts'
import type { Console } from '../support/console.ts'
import { askAs } from '../support/forms.ts'
import { environment, SECRET } from '../support/platform.ts'

const log = createLog({ name: 'test', level: 'silent' })
const CREW = {
  ...definition,
  name: 'Tides',
  inputs: [{ name: 'topic', type: 'string' }],
  agents: [{ key: 'writer', role: 'Writer', goal: 'Explain {topic}' }],
  tasks: [
    { key: 'write', agent: 'writer', description: 'Explain {topic}.', expected_output: 'Text' },
  ],
}
/** Knows the answer only where it is told to name the cause. */
const knows: Answer = (response, request) => {
  const asked = JSON.stringify(request.body.messages)
  return says(asked.includes('Name the cause') ? 'The moon.' : 'Nobody knows.')(response, request)
}
const PATIENCE_MS = 300_000

describe.skipIf(hasNoBrowser)('from a bad answer to a version that was proved', () => {
  let site: Console
  let page: Page
  let model: FakeModel
  let collector: Harness
  const running: { stop: () => Promise<unknown> }[] = []

  beforeAll(async () => {
    collector = await createHarness()
    model = await startFakeModel()
    model.play(knows)
    const variables = {
      COLLECTOR_URL: collector.collector.url,
      COLLECTOR_JWT_SECRET: COLLECTOR_SECRET,
    }
    site = await openConsole({ variables })
    const { sql, url } = site.platform
    const { id, automationId } = await ensureInternalCrew(sql, 'runner')
    const crew = await startCrew(
      {
        HOST: '127.0.0.1',
        PORT: '0',
        CREW_DEFINITION: JSON.stringify(INTERNAL_DEFINITIONS.runner),
        CREW_TOKEN: crewToken(SECRET, automationId),
        OPENAI_BASE_URL: model.baseUrl,
      },
      { log },
    )
    await markOnline(sql, id, crew.url)
    const env = { ...environment(url), ...variables, WORKER_DRAIN_SECONDS: '0' }
    running.push(crew, await startWorker(env, { log }))
    page = await site.open(site.platform.acme, { viewport: { width: 1440, height: 900 } })
  })

  afterAll(async () => {
    for (const service of running.toReversed()) await service.stop()
    await site.close()
    await model.stop()
    await collector.stop()
  })

  const click = (role: 'link' | 'button', name: string) =>
    page.getByRole(role, { name, exact: true }).first().click()

  /** Publishes a version by its form, and opens the trace of a run. */
  async function answerBadly(): Promise<{ automation: string; project: string }> {
    const ada = askAs(site.platform.app, await site.platform.signIn(site.platform.acme))
    const created = await ada.post('/projects', { name: 'Tides' })
    const project = created.headers.get('location') ?? ''
    await ada.post(`${project}/versions`, { definition: JSON.stringify(CREW) })
    await ada.post(`${project}/versions/1/publish`)
    const shown = await (await ada.get(project)).text()
    const [, automation = ''] = /href="(\/automations\/[\w-]{36})"/.exec(shown) ?? []
    const started = await ada.post(`${automation}/executions`, { 'input.topic': 'tides' })
    const run = (started.headers.get('location') ?? '').split('?')[0] ?? ''
    const state = async () => (await (await ada.get(run)).text()).includes('Run completed')
    await expect.poll(state, { timeout: PATIENCE_MS }).toBe(true)
    const trace = (run.split('/').at(-1) ?? '').replaceAll('-', '')
    const there = async () => (await page.goto(`${site.service.url}/traces/${trace}`))?.status()
    await expect.poll(there, { timeout: PATIENCE_MS }).toBe(200)
    return { automation, project }
  }

  it(
    'leads by clicks through a case, a gate that refuses, a share and a rollback',
    async () => {
      const { automation, project } = await answerBadly()
      await page.getByText('Rate or add a note').click()
      await page.getByLabel('Bad', { exact: true }).check()
      await click('button', 'Add')
      await page.locator(`a[href^="${automation}/executions/"]`).first().click()
      // A case of it, in a set that is made on the way.
      await click('link', 'Make a case of it')
      await click('link', 'Create one')
      await page.getByLabel('Name').fill('Causes')
      const check = page.getByRole('group', { name: 'Check 1' })
      await check.getByRole('combobox').selectOption('contains')
      await check.locator('.of-text input, .of-text textarea').fill('moon')
      await click('button', 'Create')
      await page.getByLabel('Newest runs').fill('5')
      await page.getByLabel('Which').selectOption('Rated bad')
      await click('button', 'Add the runs')
      await page.getByText('The cases are added.').waitFor()
      // A gate.
      await page.goto(`${site.service.url}${automation}/gates`)
      await page.getByLabel('Set of cases').fill('Causes')
      await page.getByLabel('Of 100 cases pass at least').fill('100')
      await click('button', 'Create')
      // A changed prompt, which is not good enough: the gate refuses it.
      await page.goto(`${site.service.url}${project}/versions/1`)
      await click('link', 'Write a version from this one')
      await publishChanged('Explain {topic} in a word.')
      await page.getByRole('heading', { name: 'It waits for its gates' }).waitFor()
      await publishUntil('A gate refuses it')
      // The cause of the bad answer is named: the gate lets it through.
      await publishChanged('Explain {topic}. Name the cause.')
      await publishUntil('This version takes 10 of 100 calls.')
      await click('button', 'Take the share back')
      await page.getByText('The share is taken back.').waitFor()
      const list = await page.goto(`${site.service.url}${automation}/evaluations`)
      expect(await list?.text()).toContain('Causes')
    },
    PATIENCE_MS,
  )

  /** Writes another prompt into the form of the editor, saves it, and asks for a share. */
  async function publishChanged(text: string): Promise<void> {
    const field = page.locator('textarea[name$="description"]').first()
    const folds = page.locator('details:not([open]):has(textarea[name$="description"]) > summary')
    while ((await folds.count()) > 0 && !(await field.isVisible())) await folds.first().click()
    await field.fill(text)
    await page.locator('button[value="save-form"]').click()
    await page.getByLabel('Calls that it takes').selectOption('10 of 100')
    await click('button', 'Publish')
  }

  /** Publishes anew until the gates have decided. */
  async function publishUntil(said: string): Promise<void> {
    await expect
      .poll(
        async () => {
          if (await page.getByText(said).first().isVisible()) return true
          await page.getByLabel('Calls that it takes').selectOption('10 of 100')
          await click('button', 'Publish')
          return false
        },
        { timeout: PATIENCE_MS, interval: 500 },
      )
      .toBe(true)
  }
})
