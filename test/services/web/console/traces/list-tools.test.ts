import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectAccessible, inEveryLook } from '../../../../support/axe.ts'
import type { OtlpSpan } from '../../../collector/support/otlp.ts'
import { hasNoBrowser } from '../../support/console.ts'
import type { Console } from '../../support/console.ts'
import { exampleTrace } from '../../support/example-trace.ts'
import { freshTraceId, openTracedConsole } from '../../support/traces.ts'
import type { TracedConsole } from '../../support/traces.ts'
import { isLong } from '../../../../support/long.ts'

const MINUTE = 60_000
const WIDE = { viewport: { width: 1440, height: 1000 } }

/** The example under another name, of a model with a price; its calls take longer by a factor. */
function traceOf(name: string, ago: number, slower = 1): OtlpSpan[] {
  const start = Date.now() - ago
  const [first, ...others] = exampleTrace(freshTraceId(), start)
  const startNs = BigInt(start) * 1_000_000n
  const later = (time: unknown): string =>
    `${startNs + (BigInt(String(time)) - startNs) * BigInt(slower)}`
  return [{ ...first, name }, ...others].map((span) => ({
    ...span,
    endTimeUnixNano: later(span.endTimeUnixNano),
    attributes: span.attributes?.map((each) =>
      each.key === 'gen_ai.request.model'
        ? { key: each.key, value: { stringValue: 'gpt-5-nano' } }
        : each,
    ),
  }))
}

describe.skipIf(hasNoBrowser)('what can be done with the list of traces', () => {
  let traced: TracedConsole
  let site: Console
  const fast = traceOf('fast', MINUTE)
  const slow = traceOf('slow', 2 * MINUTE, 2)

  beforeAll(async () => {
    traced = await openTracedConsole()
    ;({ site } = traced)
    await traced.send(site.platform.acme, fast)
    await traced.send(site.platform.acme, slow)
    await traced.collector.rolledUp()
  })

  afterAll(() => traced.close())

  const open = async (path: string, options: object = WIDE): Promise<Page> => {
    const page = await site.open(site.platform.acme, options)
    await page.goto(site.service.url + path)
    return page
  }
  const names = (page: Page) => page.locator('table.list .lead a').allTextContents()
  const idOf = ([span]: readonly OtlpSpan[]): string => String(span?.traceId)

  it('keeps a filter under a name, opens and deletes it, without a script', async () => {
    const page = await open('/traces?min_duration_ms=5000', { javaScriptEnabled: false })
    expect(await names(page)).toEqual(['slow'])
    await page.locator('summary', { hasText: 'Saved filters' }).click()
    await page.getByLabel('Name of this filter').fill('Slow <ones>')
    await page.getByRole('button', { name: 'Save' }).click()
    expect(await page.getByRole('status').innerText()).toBe('The filter is saved. Only you see it.')
    await page.goto(`${site.service.url}/traces`)
    expect(await names(page)).toEqual(['fast', 'slow'])
    const saved = page.getByRole('navigation', { name: 'Saved filters' })
    await saved.getByRole('link', { name: 'Slow <ones>' }).click()
    expect(await names(page)).toEqual(['slow'])
    expect(await saved.locator('[aria-current]').innerText()).toBe('Slow <ones>')
    await page.locator('summary', { hasText: 'Saved filters' }).click()
    await page.getByRole('button', { name: 'Delete Slow <ones>' }).click()
    expect(await page.getByRole('status').innerText()).toContain('The filter is deleted.')
    expect(await saved.count()).toBe(0)
    await page.getByRole('button', { name: 'Undo' }).click()
    expect(await saved.getByRole('link').allInnerTexts()).toEqual(['Slow <ones>'])
    await page.locator('summary', { hasText: 'Saved filters' }).click()
    await page.getByRole('button', { name: 'Delete Slow <ones>' }).click()
    expect(await saved.count()).toBe(0)
    await page.context().close()
  })

  it('exports the traces of the filter, each as a line', async () => {
    const page = await open('/traces?min_duration_ms=5000', { javaScriptEnabled: false })
    const started = page.waitForEvent('download')
    await page.getByRole('link', { name: 'Export' }).click()
    const download = await started
    expect(download.suggestedFilename()).toMatch(/^traces-\d{4}-\d\d-\d\d\.ndjson$/)
    const chunks = await (await download.createReadStream()).toArray()
    const [line = '', end = '', ...rest] = Buffer.concat(chunks).toString().split('\n')
    expect(line).toContain(idOf(slow))
    expect(JSON.parse(line)).toHaveProperty('resourceSpans')
    expect([JSON.parse(end), rest]).toEqual([{ resourceSpans: [], complete: true }, ['']])
    await page.goto(`${site.service.url}/trace-export?min_tokens=many`)
    expect(await page.locator('.error-body').innerText()).toContain('min_tokens must be')
    await page.context().close()
  })

  it('shows rows as they come while it is live, with its filter, until a pause', async () => {
    const page = await open('/traces?min_duration_ms=3000')
    await page.getByLabel('Compare fast').check()
    expect(await page.getByRole('button', { name: 'Compare two' }).isDisabled()).toBe(true)
    const answered = page.waitForResponse(/trace-events/)
    await page.getByRole('button', { name: 'Live' }).click()
    await answered
    await traced.send(site.platform.acme, traceOf('fresh', MINUTE / 2))
    await page.locator('tr.fresh', { hasText: 'fresh' }).waitFor()
    expect(await names(page)).toEqual(['fresh', 'fast', 'slow'])
    expect(await page.getByLabel('Compare fast').isChecked()).toBe(true)
    if (inEveryLook) await expectAccessible(page, [1024, 390])
    await page.getByRole('button', { name: 'Pause' }).click()
    await page.getByLabel('Compare slow').check()
    await page.getByRole('button', { name: 'Compare two' }).click()
    await page.getByRole('heading', { name: 'Compare traces' }).waitFor()
    await page.context().close()
  })

  it('compares two traces by totals, by groups of spans, and by what they answered', async () => {
    const page = await open(`/trace-comparison?trace=${idOf(fast)}&trace=${idOf(slow)}`)
    const totals = await page.getByRole('table', { name: 'Totals' }).innerText()
    expect(totals).toMatch(/Duration\s+4\.2 s\s+8\.4 s\s+\+4\.2 s \(\+100 %\)/)
    expect(totals).toMatch(/Tokens\s+1,400\s+1,400\s+the same/)
    expect(totals).toMatch(/Cost\s+\$0\.00011\s+\$0\.00011\s+the same/)
    const groups = page.getByRole('table', { name: 'Spans by name, kind and task' })
    expect(await groups.innerText()).toMatch(/chat gpt-5-mini\s+3 → 3/)
    const output = page.getByRole('region', { name: 'Output of B' })
    await output.getByRole('heading', { name: 'Tides' }).waitFor()
    await page.getByRole('link', { name: 'Swap' }).click()
    await page.getByText('−4.2 s (−50 %)').first().waitFor()
    await page.context().close()
  })

  it.runIf(isLong)(
    'offers traces to compare with, and tells at the field which id is none',
    async () => {
      const page = await open(`/traces/${idOf(fast)}`)
      await page.getByRole('link', { name: 'Compare' }).click()
      await page.getByRole('link', { name: 'slow' }).waitFor()
      await page.getByLabel('Trace id to compare with').fill('nothing')
      await page.getByRole('button', { name: 'Compare' }).click()
      expect(await page.getByRole('alert').innerText()).toContain('no trace with this id')
      if (inEveryLook) await expectAccessible(page, [1024, 390])
      await page.getByLabel('Trace id to compare with').fill(idOf(slow))
      await page.getByRole('button', { name: 'Compare' }).click()
      await page.getByRole('table', { name: 'Totals' }).waitFor()
      await page.context().close()
    },
  )

  it.runIf(isLong)('leads back to the list with its filter', async () => {
    const page = await open('/traces?window=24h&min_duration_ms=5000')
    await page.getByRole('link', { name: 'slow' }).click()
    await page.getByRole('navigation', { name: 'Breadcrumb' }).getByRole('link').click()
    expect(page.url()).toContain('min_duration_ms=5000')
    expect(page.url()).toContain('window=24h')
    await page.context().close()
  })

  it.runIf(inEveryLook)('keeps the rules of accessibility', async () => {
    const page = await open('/traces')
    for (const path of ['/traces', `/trace-comparison?trace=${idOf(fast)}&trace=${idOf(slow)}`]) {
      await page.goto(site.service.url + path)
      await page.evaluate("document.querySelectorAll('details').forEach((d) => (d.open = true))")
      await expectAccessible(page, [1024, 390])
    }
    await page.context().close()
  })
})
