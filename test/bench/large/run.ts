import { setTimeout as delay } from 'node:timers/promises'
import { kickoff } from '../../../services/platform/runs/runs.ts'
import { killWorker } from '../../faults/runs/stage.ts'
import { cpuOf, cpuOfFamily, memoryOf } from '../support/processes.ts'
import { quantile, toTable } from '../support/statistics.ts'
import { holdRuns } from './held-runs.ts'
import { openLargeStage } from './stage.ts'
import type { LargeStage } from './stage.ts'

const FOLLOWERS = 2000
const CALLERS = 40
const FOLLOWED_ITEMS = 20
const STEPS = 10_000
const ROWS = 100_000
const LATENCY_MS = 20
const POLL_MS = 100
/** For how long the batch goes on before it is stopped. */
const BATCH_MS = 60_000

/** The last one leaves no worker that others could use. */
const PARTS = { followers: followOne, steps: performLong, batch: startMany, memory: holdRuns }

/** Measures what is large of its kind: those who follow a run, a run, a batch, and a worker. */
export async function run(...names: string[]): Promise<void> {
  const unknown = names.find((name) => !Object.hasOwn(PARTS, name))
  if (unknown !== undefined) {
    throw new Error(`There is no part ${unknown}. Parts: ${Object.keys(PARTS).join(', ')}.`)
  }
  const stage = await openLargeStage(LATENCY_MS, CALLERS)
  try {
    for (const [name, measure] of Object.entries(PARTS)) {
      if (names.length > 0 && !names.includes(name)) continue
      process.stdout.write(`${await measure(stage)}\n\n`)
    }
  } finally {
    await stage.close()
  }
}

const itemsOf = (count: number): number[] => Array.from({ length: count }, (_, nr) => nr)

const start = ({ runs }: LargeStage, name: string, items: number): Promise<string> =>
  kickoff(runs.sql, {
    deploymentId: runs.automation.id,
    inputs: { topic: 'x', number: name, items: itemsOf(items) },
  })

interface Call {
  /** Which of the callers. @default the first */
  readonly nr?: number
  /** @default `text/event-stream` where there is a stream */
  readonly accept?: string
}

const call = ({ origin, runs, tokens }: LargeStage, path: string, { nr = 0, accept }: Call = {}) =>
  fetch(`${origin}/platform/api/v1/crew/${runs.automation.automationId}/${path}`, {
    headers: { authorization: `Bearer ${tokens[nr % tokens.length]}`, ...(accept && { accept }) },
  })

const until = async (isSo: () => Promise<boolean> | boolean): Promise<void> => {
  while (!(await isSo())) await delay(POLL_MS)
}

const seconds = (since: number): string => ((performance.now() - since) / 1000).toFixed(2)

/** Many callers follow one run, which begins once all are there. */
async function followOne(stage: LargeStage): Promise<string> {
  const { runs, web } = stage
  runs.worker.kill('SIGSTOP')
  const id = await start(stage, 'followed', FOLLOWED_ITEMS)
  const memoryBefore = memoryOf(web.pid ?? 0)
  const opened = performance.now()
  const streams: Response[] = []
  for (let nr = 0; nr < FOLLOWERS; nr += CALLERS) {
    const some = Array.from({ length: CALLERS }, (_, at) =>
      call(stage, `events/${id}`, { nr: nr + at }),
    )
    streams.push(...(await Promise.all(some)))
  }
  const refused = streams.filter(({ status }) => status !== 200).length
  const openedAfter = seconds(opened)
  const memory = ((memoryOf(web.pid ?? 0) - memoryBefore) * 1024) / FOLLOWERS
  const before = { web: cpuOf(web.pid ?? 0), postgres: cpuOfFamily(runs.server.pid) }
  const delays: number[] = []
  const counts = Promise.all(streams.map((stream) => readStream(stream, delays)))
  runs.worker.kill('SIGCONT')
  const began = performance.now()
  const messages = await counts
  const took = seconds(began)
  const perMessage = (cpu: number): string => ((cpu * 1e6) / delays.length).toFixed(0)
  const ofWeb = cpuOf(web.pid ?? 0) - before.web
  const ofPostgres = cpuOfFamily(runs.server.pid) - before.postgres
  return toTable(
    ['followers of one run', ''],
    [
      ['streams', `${FOLLOWERS - refused}`],
      ['refused', `${refused}`],
      ['all open after, s', openedAfter],
      ['memory of web a stream, KiB', memory.toFixed(0)],
      ['events of the run', `${Math.max(...messages)}`],
      [
        'streams without all of them',
        `${messages.filter((count) => count < Math.max(...messages)).length}`,
      ],
      ['the run, s', took],
      ['from the event to the caller, p50 ms', quantile(delays, 0.5).toFixed(0)],
      ['p99 ms', quantile(delays, 0.99).toFixed(0)],
      ['web, µs of processor a message', perMessage(ofWeb)],
      ['PostgreSQL, µs of processor a message', perMessage(ofPostgres)],
    ],
  )
}

/** Reads a stream to its end; returns how many messages it had, and adds how late they were. */
async function readStream({ body }: Response, delays: number[]): Promise<number> {
  let rest = ''
  let count = 0
  const decoder = new TextDecoder()
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    const now = Date.now()
    const messages = (rest + decoder.decode(chunk, { stream: true })).split('\n\n')
    rest = messages.pop() ?? ''
    for (const message of messages) {
      const [, at] = /"at":"([^"]+)"/.exec(message) ?? []
      if (!message.startsWith('id: ')) continue
      count += 1
      if (at !== undefined) delays.push(now - Date.parse(at))
    }
  }
  return count
}

/** A run of many steps: how long it takes, is handed over, and is shown. */
async function performLong(stage: LargeStage): Promise<string> {
  const { runs, origin, cookie } = stage
  const { sql, model, automation } = runs
  const id = await start(stage, 'long', STEPS)
  const began = performance.now()
  const asked = (): number => model.answered() - before
  const before = model.answered()
  await until(() => asked() > STEPS / 2)
  const firstHalf = seconds(began)
  const killed = performance.now()
  await killWorker(runs)
  const known = asked()
  await until(() => asked() > known + 10)
  const handedOver = seconds(killed)
  await until(async () => {
    const [row] = await sql<{ status: string }[]>`select status from executions where id = ${id}`
    return row?.status !== 'running' && row?.status !== 'queued'
  })
  const took = seconds(began)
  const [row] = await sql<{ status: string }[]>`select status from executions where id = ${id}`
  const page = `${origin}/automations/${automation.automationId}/executions/${id}`
  const shown: [string, () => Promise<Response>][] = [
    ['its page', () => fetch(page, { headers: { cookie } })],
    ['its status', () => call(stage, `status/${id}`)],
    ['its first events', () => call(stage, `events/${id}?limit=100`, JSON_ONLY)],
    [
      '1,000 events behind 9,000',
      () => call(stage, `events/${id}?limit=1000&after=9000`, JSON_ONLY),
    ],
  ]
  const rows: string[][] = []
  for (const [name, ask] of shown) {
    const times: number[] = []
    let bytes = 0
    let status = 0
    for (let nr = 0; nr < 7; nr += 1) {
      const asks = performance.now()
      const response = await ask()
      bytes = (await response.arrayBuffer()).byteLength
      status = response.status
      times.push(performance.now() - asks)
    }
    rows.push([
      `${name}, ${status}, ms and kB`,
      `${quantile(times, 0.5).toFixed(0)} ${(bytes / 1000).toFixed(0)}`,
    ])
  }
  return toTable(
    [`a run of ${STEPS} steps`, ''],
    [
      ['it ended', row?.status ?? 'nowhere'],
      ['asked more than once', `${asked() - STEPS}`],
      ['the first half, s', firstHalf],
      ['from the kill of its worker to new answers, s', handedOver],
      ['all of it, s', took],
      ...rows,
    ],
  )
}

const JSON_ONLY: Call = { accept: 'application/json' }

/** A batch: how long it takes to be accepted, how fast it goes, and how long to be stopped. */
async function startMany(stage: LargeStage): Promise<string> {
  const { origin, runs, token } = stage
  const { sql, automation, worker, server } = runs
  const headers = { authorization: `Bearer ${token}` }
  const batches = `${origin}/designer/v2/automations/${automation.automationId}/batches`
  const rows = Array.from({ length: ROWS }, (_, nr) =>
    JSON.stringify({ topic: 'x', number: `row-${nr}`, items: [1] }),
  )
  const sent = performance.now()
  const response = await fetch(`${batches}?name=many`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/jsonl' },
    body: rows.join('\n'),
  })
  const accepted = (await response.json()) as { id?: string }
  const acceptedAfter = seconds(sent)
  if (!accepted.id) throw new Error(JSON.stringify(accepted))
  const before = { worker: cpuOf(worker.pid ?? 0), postgres: cpuOfFamily(server.pid) }
  await delay(BATCH_MS)
  const [{ ended }] = await sql<[{ ended: number }]>`
    select count(*)::int as ended from executions
    where batch_id = ${accepted.id} and finished_at is not null`
  const perRun = (cpu: number): string => ((cpu * 1000) / ended).toFixed(1)
  const ofWorker = perRun(cpuOf(worker.pid ?? 0) - before.worker)
  const ofPostgres = perRun(cpuOfFamily(server.pid) - before.postgres)
  const stopped = performance.now()
  const stop = await fetch(`${batches}/${accepted.id}/stop`, { method: 'POST', headers })
  const stoppedAfter = seconds(stopped)
  await until(async () => {
    const [row] = await sql`
      select from executions where status in ('queued', 'running') limit 1`
    return row === undefined
  })
  return toTable(
    [`a batch of ${ROWS} rows`, ''],
    [
      ['accepted after, s', acceptedAfter],
      ['then runs a second', (ended / (BATCH_MS / 1000)).toFixed(0)],
      ['PostgreSQL and the worker, ms of processor a run', `${ofPostgres} ${ofWorker}`],
      [`stop answered ${stop.status} after, s`, stoppedAfter],
      ['none runs or waits after, s', seconds(stopped)],
    ],
  )
}
