import { loadavg } from 'node:os'
import type { Page } from 'playwright-core'
import { TRACE_ID } from '../reads/fill.ts'
import { median, toTable } from '../support/statistics.ts'
import { openStage } from './stage.ts'
import type { Stage } from './stage.ts'
import { openMeasured } from './visit.ts'
import type { Measured, Visit } from './visit.ts'

const ROUNDS = 3
const SCROLLS = 60

/**
 * Measures in Chromium what it takes to open the list of a million traces, and to open a trace of
 * 50,000 spans and 1 GB, go through it, search it and read a span. A directory keeps the data.
 */
export async function run(directory?: string): Promise<void> {
  const stage = await openStage(directory)
  const visits = new Map<string, Visit[]>()
  try {
    // The first round warms up and is not counted.
    for (let round = 0; round <= ROUNDS; round++) {
      for (const visit of [...(await visitList(stage)), ...(await visitTrace(stage))]) {
        if (round > 0) visits.set(visit.name, [...(visits.get(visit.name) ?? []), visit])
      }
    }
  } finally {
    await stage.close()
  }
  print(visits)
}

async function visitList(stage: Stage): Promise<Visit[]> {
  const { page, visit } = await openMeasured(stage)
  const open = async (path: string): Promise<number> => {
    await page.goto(stage.webUrl + path)
    return firstPaint(page)
  }
  const visits = [
    await visit('list, 7 days: first paint', () => open('/traces')),
    await visit('list, all: first paint', () => open('/traces?window=all')),
  ]
  await page.context().close()
  return visits
}

async function visitTrace(stage: Stage): Promise<Visit[]> {
  const measured = await openMeasured(stage)
  const { page, visit } = measured
  const rows = page.locator('.tree-row')
  const visits = [
    await visit('trace: first paint', async () => {
      await page.goto(`${stage.webUrl}/traces/${TRACE_ID}`, { waitUntil: 'commit' })
      await rows.first().waitFor()
      return firstPaint(page)
    }),
    await visit('trace again: usable', async () => {
      const began = performance.now()
      await page.goto(`${stage.webUrl}/traces/${TRACE_ID}`, { waitUntil: 'commit' })
      await rows.first().waitFor()
      return performance.now() - began
    }),
    ...(await goThrough(measured)),
  ]
  await page.context().close()
  return visits
}

async function goThrough({ page, visit }: Measured): Promise<Visit[]> {
  const levels = page.getByLabel('Levels')
  const find = page.getByLabel('Find in this trace')
  return [
    await visit(`scroll to the end, ${SCROLLS} steps`, () => scrollThrough(page)),
    await visit('close to 3 levels', async () => void (await levels.selectOption('3'))),
    await visit('open all levels', async () => void (await levels.selectOption(''))),
    await visit('find a name', () => find.fill('gp')),
    await visit('search what spans say', async () => {
      const answer = page.waitForResponse(/\/search\?/)
      await find.fill('nowhere')
      await (await answer).finished()
    }),
    await visit('read a span of 40 KB', async () => {
      await find.fill('')
      const id = await page.locator('.tree-row').nth(1).getAttribute('id')
      await page.locator('.tree-row').nth(1).click()
      await page.locator(`[data-span="${id?.slice('row-'.length)}"]`).waitFor()
    }),
  ]
}

const firstPaint = (page: Page): Promise<number> =>
  page.evaluate<number>(`new Promise((done) => new PerformanceObserver((list) => {
    for (const entry of list.getEntriesByName('first-contentful-paint')) done(entry.startTime)
  }).observe({ type: 'paint', buffered: true }))`)

async function scrollThrough(page: Page): Promise<void> {
  await page.evaluate(`(async () => {
    const scroller = document.querySelector('.tree-scroller')
    const end = scroller.scrollHeight - scroller.clientHeight
    for (let step = 1; step <= ${SCROLLS}; step++) {
      scroller.scrollTop = end * step / ${SCROLLS}
      await new Promise((done) => requestAnimationFrame(done))
    }
  })()`)
}

function print(visits: ReadonlyMap<string, readonly Visit[]>): void {
  const rows = [...visits].map(([name, taken]) => {
    const of = (key: Exclude<keyof Visit, 'name'>, digits = 0): string =>
      median(taken.map((one) => one[key])).toFixed(digits)
    const longest = Math.max(...taken.map(({ longestMs }) => longestMs)).toFixed(0)
    const tasks = [of('ms'), longest, of('longTasks'), of('threadMs')]
    const numbers = [...tasks, of('requests'), of('kilobytes')]
    return [name, ...numbers, of('nodes'), of('heapMiB', 1), of('serverMs')]
  })
  const times = ['ms', 'longest task ms', 'long tasks', 'thread ms']
  const head = ['', ...times, 'requests', 'kB', 'nodes', 'heap MiB', 'servers ms']
  process.stdout.write(`${toTable(head, rows)}\n`)
  process.stdout.write(`Load average: ${loadavg()[0]?.toFixed(1)}.\n`)
}
