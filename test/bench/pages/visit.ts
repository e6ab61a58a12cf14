import type { CDPSession, Page } from 'playwright-core'
import { cpuOf, cpuOfFamily } from '../support/processes.ts'
import type { Stage } from './stage.ts'

/** What it took to do something in a page. */
export interface Visit {
  readonly name: string
  /** Until it could be seen. */
  readonly ms: number
  /** The longest task of the page's thread, and the number of those over 50 ms. */
  readonly longestMs: number
  readonly longTasks: number
  /** Processor time of that thread. */
  readonly threadMs: number
  readonly requests: number
  readonly kilobytes: number
  readonly nodes: number
  /** After a garbage collection. */
  readonly heapMiB: number
  /** Of web, the collector and PostgreSQL. */
  readonly serverMs: number
}

/** A page that is measured. */
export interface Measured {
  readonly page: Page
  /** Measures what `act` does; it returns the milliseconds that count, if not all of them do. */
  readonly visit: (name: string, act: () => Promise<number | void>) => Promise<Visit>
}

interface Transfers {
  requests: number
  bytes: number
}

// Runs in the page, before its own scripts.
const OBSERVE = `
  window.tasks = []
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) window.tasks.push(duration)
  }).observe({ type: 'longtask', buffered: true })`

/** Opens a page of somebody who is signed in. */
export async function openMeasured(stage: Stage): Promise<Measured> {
  const context = await stage.browser.newContext({ viewport: { width: 1440, height: 1000 } })
  await context.addCookies([{ name: 'platform_session', value: stage.session, url: stage.webUrl }])
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  await page.addInitScript(OBSERVE)
  const devtools = await context.newCDPSession(page)
  const transfers = await followTransfers(devtools)
  await devtools.send('Performance.enable', { timeDomain: 'threadTicks' })
  return {
    page,
    async visit(name, act) {
      await page.evaluate('window.tasks = []').catch(() => {})
      const thread = await threadSeconds(devtools)
      const before = { ...transfers, server: serverSeconds(stage), at: performance.now() }
      const counted = await act()
      const ms = counted ?? performance.now() - before.at
      const serverMs = (serverSeconds(stage) - before.server) * 1000
      // Entries come after the task, in one of their own.
      await page.evaluate('new Promise((done) => setTimeout(done, 200))')
      const tasks = await page.evaluate<number[]>('window.tasks')
      const threadAfter = await threadSeconds(devtools)
      // It is counted anew for another document.
      const threadMs = (threadAfter < thread ? threadAfter : threadAfter - thread) * 1000
      const nodes = await page.evaluate<number>('document.querySelectorAll("*").length')
      await devtools.send('HeapProfiler.collectGarbage')
      const { usedSize } = await devtools.send('Runtime.getHeapUsage')
      return {
        name,
        ms,
        longestMs: Math.max(0, ...tasks),
        longTasks: tasks.length,
        threadMs,
        requests: transfers.requests - before.requests,
        kilobytes: (transfers.bytes - before.bytes) / 1000,
        nodes,
        heapMiB: usedSize / (1 << 20),
        serverMs,
      }
    },
  }
}

async function followTransfers(devtools: CDPSession): Promise<Transfers> {
  const transfers = { requests: 0, bytes: 0 }
  await devtools.send('Network.enable')
  devtools.on('Network.loadingFinished', ({ encodedDataLength }) => {
    transfers.requests++
    transfers.bytes += encodedDataLength
  })
  return transfers
}

async function threadSeconds(devtools: CDPSession): Promise<number> {
  const { metrics } = await devtools.send('Performance.getMetrics')
  return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN
}

const serverSeconds = ({ pids }: Stage): number =>
  cpuOf(pids.web) + cpuOf(pids.collector) + cpuOfFamily(pids.postgres)
