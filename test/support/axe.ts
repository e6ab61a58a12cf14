import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'

/** What the colours of a scheme can break. */
const OF_COLOURS = ['color-contrast', 'link-in-text-block']

/**
 * Holds a page against every rule of axe-core, WCAG and best practice, in each of these widths and
 * first in its own; in the dark against those about colours, which no width changes.
 */
export async function expectAccessible(page: Page, widths: readonly number[] = []): Promise<void> {
  // Through the protocol of the browser: our policy takes no inline script.
  await page.evaluate(axe.source)
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    const rules = colorScheme === 'light' ? undefined : OF_COLOURS
    expect(await violationsOf(page, rules), `${page.url()} in the ${colorScheme}`).toEqual([])
  }
  if (widths.length > 0) await page.emulateMedia({ colorScheme: 'light' })
  for (const width of widths) {
    await page.setViewportSize({ width, height: 900 })
    expect(await violationsOf(page), `${page.url()} at ${width} pixels`).toEqual([])
  }
}

/** The same for a page without JavaScript, which axe-core needs: for a copy of what it shows. */
export async function expectCopyAccessible(page: Page): Promise<void> {
  const body = await page.content()
  const context = await page.context().browser()?.newContext()
  if (!context) throw new Error('no browser')
  const copy = await context.newPage()
  await copy.route(page.url(), (route) => route.fulfill({ body, contentType: 'text/html' }))
  await copy.goto(page.url())
  await expectAccessible(copy)
  await context.close()
}

async function violationsOf(page: Page, rules?: readonly string[]): Promise<string[]> {
  // Nothing is computed for what passes.
  const options = { resultTypes: ['violations'], ...(rules && { runOnly: rules }) }
  const found: unknown = await page.evaluate(
    `axe.run(${JSON.stringify(options)}).then(({ violations }) =>
      violations.flatMap(({ id, nodes }) =>
        nodes.map(({ target, failureSummary }) =>
          id + ' at ' + target.join(' ') + ': ' + failureSummary)))`,
  )
  return Array.isArray(found) ? found.map(String) : ['axe answered nothing']
}
