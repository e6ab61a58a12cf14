import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'

/** Holds a page against every rule of axe-core, WCAG and best practice, in the light and in the dark. */
export async function expectAccessible(page: Page): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    expect(await violationsOf(page), `${page.url()} in the ${colorScheme}`).toEqual([])
  }
}

async function violationsOf(page: Page): Promise<string[]> {
  // Through the protocol of the browser: our policy takes no inline script.
  await page.evaluate(axe.source)
  const found: unknown = await page.evaluate(
    `axe.run().then(({ violations }) => violations.flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => id + ' at ' + target.join(' ') + ': ' + failureSummary)))`,
  )
  return Array.isArray(found) ? found.map(String) : ['axe answered nothing']
}
