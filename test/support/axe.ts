import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'

/** Every page is tried in all of its looks: `npm run test:long -- browser`. */
export const inEveryLook = process.env['BROWSER'] === 'all'

/** What the colours of a scheme can break. */
const OF_COLOURS = ['color-contrast', 'link-in-text-block']

/** How somebody sees a page: in a width of its own, or in this one. */
interface Look {
  readonly colorScheme: 'light' | 'dark'
  readonly width?: number
}

// The browser reads this one anew for each page.
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/**
 * Holds a page against every rule of axe-core, WCAG and best practice, in its own width, in the
 * dark, or in one of these widths: the same one each time, so that the pages of a test have all of
 * them in turn. `npm run test:long -- browser` tries all, with the rules about colours in the dark.
 */
export async function expectAccessible(page: Page, widths: readonly number[] = []): Promise<void> {
  const looks: readonly Look[] = [
    { colorScheme: 'light' },
    { colorScheme: 'dark' },
    ...widths.map((width) => ({ colorScheme: 'light', width }) as const),
  ]
  // Through the protocol of the browser: our policy takes no inline script.
  await page.evaluate(axe)
  const own = page.viewportSize()
  for (const look of inEveryLook ? looks : [lookOf(await nameOf(page), looks)]) {
    const { colorScheme, width } = look
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    if (width) await page.setViewportSize({ width, height: 900 })
    const rules = inEveryLook && colorScheme === 'dark' ? OF_COLOURS : undefined
    const where = `${page.url()} in the ${colorScheme}${width ? ` at ${width} pixels` : ''}`
    expect(await violationsOf(page, rules), where).toEqual([])
    if (width && own) await page.setViewportSize(own)
  }
}

/** What a page is called each time: without what is random in its address. */
async function nameOf(page: Page): Promise<string> {
  const { pathname, search } = new URL(page.url())
  return (await page.title()) + (pathname + search).replaceAll(/[\da-f-]{8,}|[\w-]{30,}|\d+/g, '')
}

function lookOf(name: string, looks: readonly Look[]): Look {
  const sum = Buffer.from(name).reduce((total, byte) => total + byte, 0)
  const look = looks[sum % looks.length]
  if (!look) throw new Error('a page has a look')
  return look
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
  const options = {
    resultTypes: ['violations'],
    // Of WCAG 2.2, which axe-core leaves out unless it is asked.
    ...(rules ? { runOnly: rules } : { rules: { 'target-size': { enabled: true } } }),
  }
  const found: unknown = await page.evaluate(
    `axe.run(${JSON.stringify(options)}).then(({ violations }) =>
      violations.flatMap(({ id, nodes }) =>
        nodes.map(({ target, failureSummary }) =>
          id + ' at ' + target.join(' ') + ': ' + failureSummary)))`,
  )
  return Array.isArray(found) ? found.map(String) : ['axe answered nothing']
}
