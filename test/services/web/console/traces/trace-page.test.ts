import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectAccessible, inEveryLook } from '../../../../support/axe.ts'
import { hasNoBrowser } from '../../support/console.ts'
import type { Console } from '../../support/console.ts'
import { exampleTrace, idOf } from '../../support/example-trace.ts'
import { freshTraceId, openTracedConsole } from '../../support/traces.ts'
import type { TracedConsole } from '../../support/traces.ts'
import { few, isLong } from '../../../../support/long.ts'

describe.skipIf(hasNoBrowser)('the page of a trace', () => {
  let traced: TracedConsole
  let site: Console
  const traceId = freshTraceId()

  beforeAll(async () => {
    traced = await openTracedConsole()
    ;({ site } = traced)
    await traced.send(site.platform.acme, exampleTrace(traceId, Date.now() - 60_000))
  })

  afterAll(() => traced.close())

  const open = async (query = '', options = {}): Promise<Page> => {
    const page = await site.open(site.platform.acme, {
      viewport: { width: 1440, height: 1000 },
      ...options,
    })
    await page.goto(`${site.service.url}/traces/${traceId}${query}`)
    return page
  }

  const ready = async (query = '', options = {}): Promise<Page> => {
    const page = await open(query, options)
    await page.locator('.tree-row').first().waitFor()
    return page
  }
  const rows = (page: Page) => page.locator('.tree-row .text').allTextContents()
  const title = (page: Page) => page.locator('#span-title').innerText()

  it('is a tree with the root beside it, and says what is odd about the trace', async () => {
    const page = await ready()
    expect(await rows(page)).toEqual([
      'Research.kickoff',
      'invoke_agent Researcher',
      'chat gpt-5-mini',
      'execute_tool search',
      'chat gpt-5-mini',
      'invoke_agent Writer',
      'chat gpt-5-mini',
      'orphan that ends before it starts',
      'one of a circle',
      'the other of the circle',
    ])
    expect(await title(page)).toContain('Research.kickoff')
    expect(await page.locator('.statistics').innerText()).toMatch(
      /Model calls\s+3\s+Tokens\s+1,400/,
    )
    expect(await page.locator('.notice').first().innerText()).toBe(
      'This trace has 1 span whose parent is not stored, 1 circle of spans, ' +
        '1 span that ends before it starts.',
    )
    const link = page.locator('.trace-span a.mono')
    expect(await link.getAttribute('href')).toBe(
      '/traces/0af7651916cd43dd8448eb211c80319c?span=b7ad6b7169203331',
    )
    await page.context().close()
  })

  it('is walked by keys', async () => {
    const page = await ready()
    await page.locator('.tree-rows').focus()
    const selected = () => page.locator('.tree-row[aria-selected="true"] .text').innerText()
    await page.keyboard.press('j')
    expect(await selected()).toBe('invoke_agent Researcher')
    await page.keyboard.press('ArrowLeft')
    expect(await rows(page)).toHaveLength(7)
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('ArrowRight')
    expect(await selected()).toBe('chat gpt-5-mini')
    await page.keyboard.press('ArrowLeft')
    expect(await selected()).toBe('invoke_agent Researcher')
    await page.keyboard.press('e')
    expect(await selected()).toBe('invoke_agent Writer')
    await page.keyboard.press('k')
    await page.locator('#span-title', { hasText: 'chat gpt-5-mini' }).waitFor()
    expect(new URL(page.url()).searchParams.get('span')).toBe(idOf(5))
    await page.keyboard.press('Enter')
    const focused = () => page.evaluate('document.activeElement.className')
    expect(await focused()).toContain('trace-span')
    await page.keyboard.press('Escape')
    expect(await focused()).toBe('tree-rows')
    await page.keyboard.press('1')
    expect(await rows(page)).toHaveLength(3)
    await page.keyboard.press('0')
    await page.keyboard.press('j')
    await page.keyboard.press('c')
    expect(await rows(page)).toHaveLength(6)
    await page.keyboard.press('c')
    expect(await rows(page)).toHaveLength(10)
    await page.keyboard.press('?')
    await page.getByRole('heading', { name: 'Keys' }).waitFor()
    await expectAccessible(page, [1024, 390])
    await page.getByRole('button', { name: 'Close' }).click()
    await page.keyboard.press('/')
    expect(await page.evaluate('document.activeElement.name')).toBe('q')
    await page.context().close()
  })

  it('finds what spans say, a kind, errors and levels', async () => {
    const page = await ready()
    const find = page.getByLabel('Find in this trace')
    await find.fill('twice a day')
    await expect.poll(() => rows(page)).toEqual(['chat gpt-5-mini'])
    await find.fill('nothing like this')
    await page.getByText('No span is like this.').waitFor()
    await find.fill('')
    await page.getByLabel('Kind').selectOption('tool')
    await expect.poll(() => rows(page)).toEqual(['execute_tool search'])
    await page.getByLabel('Kind').selectOption('')
    await page.getByLabel('Errors').check()
    await expect.poll(() => rows(page)).toEqual(['invoke_agent Writer', 'chat gpt-5-mini'])
    await page.getByLabel('Errors').uncheck()
    await page.getByLabel('Levels').selectOption('1')
    await expect.poll(async () => (await rows(page)).length).toBe(3)
    await page.getByLabel('Levels').selectOption('')
    await page.locator('[name=fold]').selectOption('agent')
    await expect.poll(async () => (await rows(page)).length).toBe(6)
    await page.locator('[name=fold]').selectOption('')
    await page.getByLabel('Critical path').check()
    await expect.poll(async () => (await rows(page)).length).toBe(7)
    await page.context().close()
  })

  it.each(few([true, false], 1))(
    'folds messages, and shows them rendered or as they were written; with a script: %s',
    async (javaScriptEnabled) => {
      const page = await open(`?span=${idOf(3)}`, { javaScriptEnabled })
      if (javaScriptEnabled) await page.locator('.tree-row').first().waitFor()
      const system = page.locator('.message.system')
      expect(await system.locator('strong').innerText()).toBe('careful')
      await page.getByRole('link', { name: 'As written' }).click()
      await system.getByText('You are a **careful** researcher.').waitFor()
      const current = page.locator('[data-as][aria-current]')
      expect(await current.innerText()).toBe('As written')
      expect(new URL(page.url()).searchParams.get('as')).toBe('text')
      await system.locator('summary').click()
      await system.getByText('You are a **careful** researcher.').waitFor({ state: 'hidden' })
      if (javaScriptEnabled && inEveryLook) await expectAccessible(page, [1024, 390])
      await page.context().close()
    },
  )

  it.runIf(isLong)('copies a message as it was sent', async () => {
    const permissions = ['clipboard-read', 'clipboard-write']
    const page = await ready(`?span=${idOf(4)}`, { permissions })
    const copied = async (message: string): Promise<unknown> => {
      const article = page.locator('.message', { hasText: message })
      await article.getByRole('button', { name: 'Copy' }).click()
      await article.getByRole('button', { name: 'Copied' }).waitFor()
      return page.evaluate('navigator.clipboard.readText()')
    }
    // The page shows these characters as symbols.
    expect(await copied('turned')).toContain('\u001b[31mred\u001b[0m and \u202eturned')
    await page.goto(`${site.service.url}/traces/${traceId}?span=${idOf(3)}`)
    expect(await copied('Calls search')).toBe('search {"q":"tides"}')
    await page.context().close()
  })

  it.runIf(isLong)('has times along the axis that do not touch, however narrow it is', async () => {
    const page = await ready()
    for (const width of [1440, 1200, 700, 390]) {
      await page.setViewportSize({ width, height: 900 })
      const boxes = await page
        .locator('.tree-head .axis-times > span:visible')
        .evaluateAll((all) => all.map((each) => each.getBoundingClientRect().toJSON()))
      expect(boxes.length).toBeGreaterThan(1)
      for (const [index, { left }] of boxes.entries()) {
        const before = boxes[index - 1]
        if (before) expect(left - before.right).toBeGreaterThan(6)
      }
    }
    await page.context().close()
  })

  it('shows what strangers wrote as text, with nothing hidden', async () => {
    const page = await ready(`?span=${idOf(3)}`)
    const dialogs: string[] = []
    page.on('dialog', (dialog) => {
      dialogs.push(dialog.message())
      void dialog.dismiss()
    })
    const panel = page.locator('.trace-span')
    expect(await panel.innerText()).toContain('<script>alert("tides")</script>')
    expect(await panel.locator('.call-head').innerText()).toBe('Calls search call-1')
    await page.goto(`${site.service.url}/traces/${traceId}?span=${idOf(4)}`)
    expect(await panel.innerText()).toContain('␛[31mred␛[0m and ⟨U+202E⟩turned')
    await page.goto(`${site.service.url}/traces/${traceId}?span=${idOf(6)}`)
    expect(await panel.innerText()).toContain('<img src=x onerror=alert(1)>')
    expect(dialogs).toEqual([])
    await page.context().close()
  })

  it('is complete without a script', async () => {
    const page = await open('', { javaScriptEnabled: false })
    expect(await page.locator('.waterfall tbody tr').count()).toBe(10)
    expect(await page.getByRole('button', { name: 'Copy' }).count()).toBe(0)
    await page.getByRole('link', { name: 'execute_tool search' }).click()
    expect(await title(page)).toContain('execute_tool search')
    await page.getByLabel('Find in this trace').fill('twice a day')
    await page.getByRole('button', { name: 'Show' }).click()
    expect(await page.locator('.waterfall tbody tr').count()).toBe(1)
    const download = page.waitForEvent('download')
    await page.getByRole('link', { name: 'OTLP JSON' }).click()
    expect((await download).suggestedFilename()).toBe(`trace-${traceId}.json`)
    await page.context().close()
  })

  it('is not there for another organization, in no part of it', async () => {
    const page = await site.open(site.platform.rival)
    const statusOf = async (path: string) =>
      (await page.goto(`${site.service.url}/traces/${traceId}${path}`))?.status()
    for (const path of ['', '/rows', '/otlp', '/search?q=tides', `/spans/${idOf(3)}`]) {
      expect([path, await statusOf(path)]).toEqual([path, 404])
    }
    await page.context().close()
  })

  it.runIf(inEveryLook)(
    'keeps the rules of accessibility, with its script and without',
    async () => {
      const page = await ready(`?span=${idOf(5)}`, { viewport: { width: 1440, height: 1000 } })
      await page.getByText('Rate or add a note').click()
      await page.getByLabel('Good').check()
      await page.getByRole('button', { name: 'Add' }).click()
      await page.getByText('Ada Park').first().waitFor()
      await page.locator('.tree-row').first().waitFor()
      await page.getByText('Rate or add a note').click()
      await expectAccessible(page, [1024, 390])
      await page.route('**/assets/trace-*.js', (route) => route.abort())
      await page.reload()
      await page.locator('.waterfall').waitFor()
      await expectAccessible(page, [1024, 390])
      await page.context().close()
    },
    180_000,
  )
})
