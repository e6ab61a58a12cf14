import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Page } from 'playwright-core'
import { expectAccessible } from '../../../support/axe.ts'
import { hasNoBrowser } from '../support/console.ts'
import { freshTraceId, openTracedConsole } from '../support/traces.ts'
import type { TracedConsole } from '../support/traces.ts'
import { exampleTrace } from '../support/example-trace.ts'

const ROWS = 60
const PHONE = { viewport: { width: 390, height: 844 } }

describe.skipIf(hasNoBrowser)('lists on a phone', () => {
  let traced: TracedConsole

  beforeAll(async () => {
    traced = await openTracedConsole()
    const { sql, acme } = traced.site.platform
    await sql`
      insert into deployments (organization_id, project_version_id, name, slug, app_id)
      select ${acme.organizationId}, ${acme.research.projectVersionId},
        'An automation with a long name ' || n, 'robot-' || n, 'robot-' || n
      from generate_series(1, ${ROWS}) n`
    await sql`
      insert into executions (deployment_id, inputs, queued_at, status, finished_at, error)
      select ${acme.research.id}, '{"topic": "the weather of tomorrow"}',
        now() - make_interval(secs => n), 'error', now(), '{"code":"x","message":"y"}'
      from generate_series(1, ${ROWS}) n`
    await sql`
      insert into audit_entries
        (organization_id, actor_kind, actor_name, action, target_kind, target_id, target_name)
      select ${acme.organizationId}, 'person', 'ada@acme.test', 'automation_created', 'automation',
        n::text, 'Robot ' || n from generate_series(1, ${ROWS}) n`
    const now = Date.now()
    const spans = Array.from({ length: ROWS }, (_, each) =>
      exampleTrace(freshTraceId(), now - each * 60_000),
    )
    await traced.send(acme, spans.flat())
    await traced.collector.rolledUp()
  })

  afterAll(() => traced.close())

  const open = async (path: string, options: object = PHONE): Promise<Page> => {
    const page = await traced.site.open(traced.site.platform.acme, options)
    await page.goto(traced.site.service.url + path)
    return page
  }

  it('have 50 rows in 4,000 px, with several in the first screen', async () => {
    const page = await open('/')
    for (const path of ['/traces', '/executions', '/automations', '/audit']) {
      await page.goto(traced.site.service.url + path)
      const rows = page.locator('.card.flush .list tbody tr')
      const { y = Infinity } = (await rows.first().boundingBox()) ?? {}
      const height = Number(await page.evaluate('document.documentElement.scrollHeight'))
      expect([path, await rows.count(), height <= 4000, y < 600]).toEqual([path, 50, true, true])
      await expectAccessible(page)
    }
    await page.context().close()
  })

  it('fold their filters without a script, unless one is in use', async () => {
    const page = await open('/executions', { ...PHONE, javaScriptEnabled: false })
    const field = page.getByLabel('Person or token')
    expect(await page.getByLabel('Text, or key:value').isVisible()).toBe(true)
    expect(await field.isVisible()).toBe(false)
    await page.getByText('Filters', { exact: true }).click()
    await field.fill('ada')
    await page.getByRole('button', { name: 'Show' }).first().click()
    await page.waitForURL(/by=ada/)
    expect(await field.inputValue()).toBe('ada')
    expect(await field.isVisible()).toBe(true)
    await page.goto(`${traced.site.service.url}/traces?text=tides`)
    expect(await page.getByLabel('Model', { exact: true }).isVisible()).toBe(false)
    await page.goto(`${traced.site.service.url}/traces?text=model:gpt-4o`)
    expect(await page.getByLabel('Model', { exact: true }).isVisible()).toBe(true)
    await page.context().close()
  })

  it('show them where there is room', async () => {
    const page = await open('/executions', { viewport: { width: 1024, height: 800 } })
    expect(await page.getByLabel('Person or token').isVisible()).toBe(true)
    expect(await page.getByText('Filters', { exact: true }).isVisible()).toBe(false)
    await page.context().close()
  })

  it('cut off no column between a phone and a large screen, and have 15 rows in one', async () => {
    const page = await open('/', {})
    for (const path of ['/', '/executions', '/traces', '/sessions']) {
      for (const width of [1024, 1180]) {
        await page.setViewportSize({ width, height: 900 })
        await page.goto(traced.site.service.url + path)
        const cut = `[...document.querySelectorAll('.card.flush, .dense')].filter(
          ({ scrollWidth, clientWidth }) => scrollWidth > clientWidth + 1).length`
        expect([path, width, await page.evaluate(cut)]).toEqual([path, width, 0])
      }
    }
    await page.setViewportSize({ width: 1440, height: 900 })
    await page.goto(`${traced.site.service.url}/traces`)
    const { y = Infinity, height = 0 } =
      (await page.locator('.list tbody tr').nth(14).boundingBox()) ?? {}
    expect(y + height).toBeLessThanOrEqual(900)
    await page.context().close()
  })
})
