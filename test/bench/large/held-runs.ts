import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { markOnline } from '../../../services/platform/automations/automations.ts'
import { kickoff } from '../../../services/platform/runs/runs.ts'
import { end, startWorker } from '../../faults/runs/stage.ts'
import { memoryOf } from '../support/processes.ts'
import { toTable } from '../support/statistics.ts'
import type { LargeStage } from './stage.ts'

/** The first warm the worker up; the others are counted. */
const COUNTS = [100, 1000]
/** In which garbage is collected, and all are heard of, more than once. */
const REST_MS = 20_000
const HEARTBEAT_MS = 5000

/** A crew whose runs begin a step and never end it. */
async function startHoldingCrew() {
  const streams = new Set<ServerResponse>()
  const now = (): string => new Date().toISOString()
  const line = (event: object): string => `${JSON.stringify({ ...event, at: now() })}\n`
  function begin(request: IncomingMessage, response: ServerResponse): void {
    request.resume()
    response.writeHead(200, { 'content-type': 'application/x-ndjson' })
    const step = { step: 'held', kind: 'tool', name: 'hold', path: ['hold'] }
    response.write(line({ type: 'step_started', seq: 1, ...step }))
    streams.add(response)
    response.on('close', () => streams.delete(response))
  }
  const server = createServer((request, response) => {
    if (request.url === '/kickoff') return begin(request, response)
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ contract: 2, name: 'Holding', capabilities: ['journal'] }))
  })
  const timer = setInterval(() => {
    for (const stream of streams) stream.write(line({ type: 'heartbeat' }))
  }, HEARTBEAT_MS)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    held: () => streams.size,
    close() {
      clearInterval(timer)
      server.closeAllConnections()
      server.close()
    },
  }
}

/** What a run in progress takes of the memory of its worker. */
export async function holdRuns({ runs }: LargeStage): Promise<string> {
  const { sql, automation, worker: other } = runs
  await end(other, 'SIGTERM')
  const crew = await startHoldingCrew()
  await markOnline(sql, automation.id, crew.url)
  const worker = startWorker(runs, {
    WORKER_CONCURRENCY: '1000',
    NODE_OPTIONS: `--import ${new URL('collect-garbage.mjs', import.meta.url).href}`,
  })
  const measured: { count: number; mebibytes: number }[] = []
  let begun = 0
  for (const count of COUNTS) {
    for (; begun < count; begun += 1) {
      const inputs = { topic: 'x', number: `held-${begun}`, items: [] }
      await kickoff(sql, { deploymentId: automation.id, inputs })
    }
    while (crew.held() < count) await delay(100)
    await delay(REST_MS)
    measured.push({ count, mebibytes: memoryOf(worker.pid ?? 0) })
  }
  worker.kill('SIGKILL')
  await once(worker, 'exit')
  crew.close()
  const [few, many] = measured
  if (!few || !many) throw new Error('nothing was measured')
  const each = ((many.mebibytes - few.mebibytes) * 1024) / (many.count - few.count)
  return toTable(
    ['runs in progress in one worker', ''],
    [
      ...measured.map(({ count, mebibytes }) => [`MiB with ${count}`, mebibytes.toFixed(0)]),
      ['KiB a run', each.toFixed(0)],
    ],
  )
}
