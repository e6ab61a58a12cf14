import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { acknowledge, attemptRun } from '../../../services/verify/attempt.ts'
import { startAdapter, TOKEN, whyNoPython, writeProject } from '../../python/adapter.ts'
import { freePort } from '../../support/free-port.ts'
import { median } from '../support/statistics.ts'

const EVENTS = 10_000
const STEPS = 1000
const ROUNDS = 5
/** A process is there for the next run after this time. */
const PREPARED_MS = 2000

const PROGRAM = `
def run(inputs, context):
    for number in range(inputs.get("events", 0)):
        context.report("tick", text="x" * 200)
    for number in range(inputs.get("steps", 0)):
        context.step("step", lambda: "done")
`

/** The times of one run, in ms. */
interface Times {
  readonly toFirst: number
  readonly total: number
}

async function measure(url: string, inputs: object): Promise<Times> {
  const started = performance.now()
  let first = 0
  const kickoff = { kickoff_id: randomUUID(), inputs, version: 1, journal: [] }
  const made = await attemptRun({
    url,
    token: TOKEN,
    kickoff,
    isOpen: true,
    timeoutMs: 120_000,
    hear(line, worker) {
      if (line.event?.type !== 'heartbeat') first ||= performance.now()
      acknowledge(line, worker)
      // The bare one waits for nobody.
      if (line.event?.type === 'crew_completed') worker.leave()
    },
  })
  const end = made.lines.at(-1)?.event?.type
  if (end !== 'crew_completed') {
    throw new Error(`HTTP ${made.status}, and the run ended with ${end}: ${made.cut}`)
  }
  return { toFirst: first - started, total: performance.now() - first }
}

async function startBare() {
  const port = await freePort()
  const program = new URL('bare_crew.py', import.meta.url).pathname
  const child = spawn('python3', [program, String(port)], { stdio: ['ignore', 'ignore', 'pipe'] })
  await once(child.stderr, 'data')
  return { url: `http://127.0.0.1:${port}`, stop: () => child.kill() }
}

/** Measures what the Python package adds to an event, to a step and to a run. */
export async function run(): Promise<void> {
  const whyNot = whyNoPython()
  if (whyNot !== undefined) throw new Error(`Nothing is measured: ${whyNot}.`)
  const project = await writeProject({ 'main.py': PROGRAM })
  const adapter = await startAdapter({
    env: { CREW_PROJECT: project, CREW_ENTRYPOINT: 'main:run' },
  })
  const bare = await startBare()
  const found = { bare: [], events: [], steps: [], prepared: [], cold: [] } as Record<
    'bare' | 'events' | 'steps' | 'prepared' | 'cold',
    number[]
  >
  try {
    await adapter.ready()
    for (let round = 0; round < ROUNDS; round += 1) {
      found.bare.push(((await measure(bare.url, { events: EVENTS })).total * 1000) / EVENTS)
      await delay(PREPARED_MS)
      const events = await measure(adapter.url, { events: EVENTS })
      found.events.push((events.total * 1000) / EVENTS)
      found.prepared.push(events.toFirst)
      await delay(PREPARED_MS)
      found.steps.push(((await measure(adapter.url, { steps: STEPS })).total * 1000) / STEPS)
      // The process for this one has just been started.
      found.cold.push((await measure(adapter.url, {})).toFirst)
    }
  } finally {
    bare.stop()
    await adapter.stop()
  }
  process.stdout.write(
    [
      `Medians of ${ROUNDS} rounds:`,
      `  µs an event, bare server        ${median(found.bare).toFixed(0)}`,
      `  µs an event, crew-runtime       ${median(found.events).toFixed(0)}`,
      `  µs a step with its ack          ${median(found.steps).toFixed(0)}`,
      `  ms to the first event           ${median(found.prepared).toFixed(0)}`,
      `  ms of a run right behind it     ${median(found.cold).toFixed(0)}`,
      '',
    ].join('\n'),
  )
}
