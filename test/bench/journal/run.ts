import { once } from 'node:events'
import { createServer, request as httpRequest } from 'node:http'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { markOnline } from '../../../services/platform/automations.ts'
import { kickoff } from '../../../services/platform/runs.ts'
import { closeStage, openStage, TASKS } from '../../faults/runs/stage.ts'
import type { Stage } from '../../faults/runs/stage.ts'
import { createRandom } from '../support/requests.ts'

const RUNS = 50
const ROUNDS = 6
/** Of the model, on average: a short answer of a fast one. */
const LATENCY_MS = 1000
const POLL_MS = 50

/** Passes everything on to a crew but the question what it can do: so it keeps no journal. */
async function hideAbilities(url: string): Promise<{ url: string; server: Server }> {
  const server = createServer((incoming, outgoing) => {
    if (incoming.url === '/describe') return void outgoing.writeHead(404).end()
    const { method, headers } = incoming
    const onward = httpRequest(`${url}${incoming.url}`, { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    incoming.pipe(onward)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server }
}

/** Does 50 runs at a time; returns the ms from each answer of the model to its next question. */
async function gapsOf({ sql, automation, model }: Stage, name: string): Promise<number[]> {
  const numbers = Array.from({ length: RUNS }, (_, index) => `${name}-${index}`)
  for (const number of numbers) {
    await kickoff(sql, { deploymentId: automation.id, inputs: { topic: 'x', number } })
  }
  for (;;) {
    const [row] = await sql<[{ live: number }]>`
      select count(*)::int as live from executions where status in ('queued', 'running')`
    if (row.live === 0) break
    await delay(POLL_MS)
  }
  return numbers.flatMap((number) =>
    TASKS.slice(1).map((task, index) => {
      const before = model.times.get(`${number}/${TASKS[index]}`)
      const after = model.times.get(`${number}/${task}`)
      return (after?.askedAt ?? Number.NaN) - (before?.answeredAt ?? Number.NaN)
    }),
  )
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length * share)] ?? Number.NaN
}

/** Compares the time between two steps with a journal and without one, in turns. */
export async function run(): Promise<void> {
  const random = createRandom(1)
  const stage = await openStage(() => LATENCY_MS * (0.5 + random()))
  const { sql, automation } = stage
  const [crew] = await sql<
    [{ url: string }]
  >`select url from deployments where id = ${automation.id}`
  const plain = await hideAbilities(crew.url)
  const gaps: Record<string, number[]> = { plain: [], journal: [] }
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const [name, { url }] of Object.entries({ plain, journal: crew })) {
      await markOnline(sql, automation.id, url)
      const found = await gapsOf(stage, `${name}-${round}`)
      // The first round warms everything up.
      if (round > 0) gaps[name]?.push(...found)
    }
  }
  plain.server.closeAllConnections()
  plain.server.close()
  await closeStage(stage)
  const shares = [0.5, 0.9, 0.99]
  console.log(`ms between two steps of a run, ${RUNS} runs at a time   p50    p90    p99`)
  for (const [name, values] of Object.entries(gaps)) {
    const cells = shares.map((share) => quantile(values, share).toFixed(1).padStart(7))
    console.log(`${name.padEnd(50)}${cells.join('')}`)
  }
}
