import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { usageCsv } from '../../../../../services/web/console/traces/list-routes.ts'
import { expectAccessible, inEveryLook } from '../../../../support/axe.ts'
import { parkRun } from '../../../../../services/platform/runs/run-approvals.ts'
import { takeRuns } from '../../../../../services/platform/runs/run-queue.ts'
import { kickoff } from '../../../../../services/platform/runs/runs.ts'
import type { OtlpSpan } from '../../../collector/support/otlp.ts'
import { hasNoBrowser } from '../../support/console.ts'
import type { Console } from '../../support/console.ts'
import { exampleTrace } from '../../support/example-trace.ts'
import { freshTraceId, openTracedConsole } from '../../support/traces.ts'
import type { TracedConsole } from '../../support/traces.ts'

const MINUTE = 60_000
const WIDE = { viewport: { width: 1440, height: 1000 } }
const PHONE_WIDTH = 390

/** A trace with another name, session and outcome for its root. */
function traceOf(name: string, ago: number, root: OtlpSpan = {}): OtlpSpan[] {
  const [first, ...others] = exampleTrace(freshTraceId(), Date.now() - ago)
  const attributes = [
    ...(first?.attributes ?? []),
    { key: 'session.id', value: { stringValue: `session of ${name}` } },
    { key: 'user.id', value: { stringValue: `user of ${name}` } },
  ]
  return [{ ...first, name, attributes, ...root }, ...others]
}

describe.skipIf(hasNoBrowser)('the lists of traces', () => {
  let traced: TracedConsole
  let site: Console

  beforeAll(async () => {
    traced = await openTracedConsole()
    ;({ site } = traced)
    const { acme, rival } = site.platform
    await traced.send(acme, traceOf('good', MINUTE))
    await traced.send(acme, traceOf('bad', 10 * MINUTE, { status: { code: 2 } }))
    await traced.send(acme, traceOf('old', 26 * 60 * MINUTE))
    await traced.send(rival, traceOf('secret of the rival', 2 * MINUTE))
    await traced.collector.rolledUp()
    await traced.collector.extracted()
  })

  afterAll(() => traced.close())

  const open = async (path: string, options: object = WIDE): Promise<Page> => {
    const page = await site.open(site.platform.acme, options)
    await page.goto(site.service.url + path)
    return page
  }
  const names = (page: Page) => page.locator('table.list .lead a').allTextContents()

  it('show the traces of the organization with their totals, and lead to each', async () => {
    const page = await open('/traces')
    expect(await names(page)).toEqual(['good', 'bad', 'old'])
    expect(await page.locator('.statistics').innerText()).toMatch(/Traces\s+3 1 failed/)
    expect(await page.getByRole('img').getAttribute('aria-label')).toBe(
      '3 traces by time, 1 of them failed',
    )
    expect(await page.content()).not.toContain('rival')
    await page.getByRole('link', { name: 'good', exact: true }).click()
    await page.getByRole('heading', { name: 'good', level: 1 }).waitFor()
    await page.context().close()
  })

  it('have room for 15 traces on a screen of 1440 by 900', async () => {
    const page = await open('/traces', { viewport: { width: 1440, height: 900 } })
    const first = await page.locator('table.list tbody tr').first().boundingBox()
    const { y = 900, height = 900 } = first ?? {}
    expect(Math.floor((900 - y) / height)).toBeGreaterThanOrEqual(15)
    await page.context().close()
  })

  it('keep filter and columns in the address', async () => {
    const page = await open('/traces', { ...WIDE, javaScriptEnabled: false })
    await page.getByLabel('Status').selectOption('error')
    await page.getByText('More filters').click()
    await page.getByRole('checkbox', { name: 'Session' }).check()
    await page.getByRole('button', { name: 'Show' }).click()
    expect(await names(page)).toEqual(['bad'])
    const table = page.getByRole('table', { name: 'Traces' })
    expect(await table.innerText()).toContain('session of bad')

    // The way back from a trace has them too, after a few steps there.
    await table.getByRole('link', { name: 'bad' }).click()
    await page.getByRole('table', { name: 'Spans' }).getByRole('link').first().click()
    await page.getByLabel('Find in this trace').fill('bad')
    await page.getByRole('button', { name: 'Show' }).click()
    await page.getByRole('navigation', { name: 'Breadcrumb' }).getByText('Traces').click()
    expect(await names(page)).toEqual(['bad'])
    expect(await table.innerText()).toContain('session of bad')

    await page.getByLabel('Time', { exact: true }).selectOption('1h')
    await page.getByLabel('Status').selectOption('')
    await page.getByRole('button', { name: 'Show' }).click()
    expect(await names(page)).toEqual(['good', 'bad'])
    await page.getByLabel('Model', { exact: true }).fill('no-such-model')
    await page.getByRole('button', { name: 'Show' }).click()
    await page.getByText('No traces found').waitFor()
    await page.context().close()
  })

  it('show what was asked and answered, and lead from one trace to the next', async () => {
    const page = await open('/traces', { ...WIDE, javaScriptEnabled: false })
    const table = page.getByRole('table', { name: 'Traces', exact: true })
    const row = table.getByRole('row').nth(1)
    expect(await row.innerText()).toMatch(/What do tides do\?[^]*# Tides They \*rise\*/)
    await page.getByRole('link', { name: 'good', exact: true }).click()
    const heading = page.getByRole('heading', { level: 1 })
    await page.getByRole('link', { name: 'Next' }).click()
    expect(await heading.innerText()).toBe('bad')
    for (const name of ['Previous', 'Previous']) await page.getByRole('link', { name }).click()
    expect(await heading.innerText()).toBe('good')
    await page.getByText('This is the first trace of the list').waitFor()
    // In the order of the list that led there, and with its filter.
    await page.goto(`${site.service.url}/traces?status=error`)
    await page.getByRole('link', { name: 'bad', exact: true }).click()
    await page.getByRole('link', { name: 'Next' }).click()
    await page.getByText('This is the last trace of the list').waitFor()
    expect(await heading.innerText()).toBe('bad')
    await page.context().close()
  })

  it('tell at its field what a filter cannot be', async () => {
    const page = await open('/traces?min_tokens=many')
    const field = page.getByLabel('Tokens from')
    expect(await field.getAttribute('aria-invalid')).toBe('true')
    expect(await page.getByRole('alert').innerText()).toContain('min_tokens must be a whole number')
    await expectAccessible(page, [1024, 390])
    await page.context().close()
  })

  it('go from a session to its traces', async () => {
    const page = await open('/sessions')
    expect(await names(page)).toEqual(['session of good', 'session of bad', 'session of old'])
    await page.getByRole('link', { name: 'session of old' }).click()
    await page.getByRole('heading', { name: 'session of old' }).waitFor()
    const turn = page.getByRole('listitem').filter({ hasText: 'Asked' })
    expect(await turn.innerText()).toMatch(/old[^]*What do tides do\?[^]*They rise and fall/)
    if (inEveryLook) await expectAccessible(page, [1024, 390])
    await turn.getByRole('link', { name: 'old' }).click()
    await page.getByRole('link', { name: 'Session', exact: true }).click()
    await page.getByRole('link', { name: 'List of traces' }).click()
    expect(await names(page)).toEqual(['old'])
    const path = new URL(page.url()).search
    await page.getByRole('table', { name: 'Traces' }).getByRole('link').first().click()
    await page
      .locator('.span-panel')
      .getByRole('link', { name: /^session of/ })
      .click()
    expect(new URL(page.url()).searchParams.get('session')).toBe(
      new URLSearchParams(path).get('session'),
    )
    await page.context().close()
  })

  it('sum calls up by day and by model, as a page and as CSV', async () => {
    const page = await open('/usage?by=model')
    expect(await page.locator('tbody').innerText()).toMatch(/gpt-5-mini\s+9\s+3/)
    const download = page.waitForEvent('download')
    await page.getByRole('link', { name: 'CSV' }).click()
    expect((await download).suggestedFilename()).toBe('usage-by-model.csv')
    await page.getByRole('link', { name: 'Day', exact: true }).click()
    await page.getByRole('img', { name: '9 calls by day' }).waitFor()
    await page
      .getByRole('img', { name: /95th percentile of the duration of calls by day/ })
      .waitFor()
    const traces = await page.locator('tbody td[data-label="Traces"]').allInnerTexts()
    expect(traces.reduce((sum, text) => sum + Number(text), 0)).toBe(3)
    await page.getByRole('link', { name: 'User', exact: true }).click()
    expect(await page.locator('tbody').innerText()).toMatch(/user of good\s+1\s+3\s/)
    if (inEveryLook) await expectAccessible(page, [1024, 390])
    await page.getByRole('link', { name: 'user of good' }).click()
    expect(await names(page)).toEqual(['good'])
    await page.context().close()
  })

  // It adds a trace to those that are counted above.
  it('say of a trace that its run waits for a person', async () => {
    const { sql, acme } = site.platform
    const inputs = { topic: 'tides' }
    const id = await kickoff(sql, { deploymentId: acme.research.id, inputs })
    const [lease] = await takeRuns(sql, 1)
    if (!lease) throw new Error('nothing to take')
    const traceId = id.replaceAll('-', '')
    const [root] = exampleTrace(traceId, Date.now() - 30 * 60 * MINUTE)
    await traced.send(acme, [{ ...root, name: 'asks', endTimeUnixNano: '0' }])
    await traced.collector.rolledUp()
    await parkRun(sql, lease, { step: 'a'.repeat(32), task: 'research', output: 'Tides' })
    const page = await open('/traces?window=30d')
    const row = page.getByRole('row', { name: 'asks' })
    expect(await row.locator('.pill').innerText()).toBe('Waiting')
    await row.getByRole('link').click()
    expect(await page.locator('.page-head .pill').innerText()).toBe('Waiting')
    await page.context().close()
  })

  it.runIf(inEveryLook).each(['/traces', '/sessions', '/usage', '/traces?status=running'])(
    'keep the rules of accessibility: %s',
    async (path) => {
      const page = await open(path)
      await page.evaluate("document.querySelectorAll('details').forEach((d) => (d.open = true))")
      await expectAccessible(page, [1024, PHONE_WIDTH])
      await page.context().close()
    },
  )
})

describe('usage as CSV', () => {
  it('quotes what needs it, and gives a spreadsheet no formula', () => {
    const row = {
      name: '=HYPERLINK("http://x","y")',
      traces: null,
      calls: 2,
      failed: 1,
      inputTokens: 3,
      outputTokens: 4,
      costUsd: 0.25,
      unpriced: 0,
      p50: 12.5,
      p95: null,
    }
    const csv = usageCsv([row])
    expect(csv.split('\r\n')[1]).toBe(`"'=HYPERLINK(""http://x"",""y"")",2,1,3,4,0.25,0,12.5,,`)
  })
})
