import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stopRun } from '../../../services/platform/runs/runs.ts'
import { startModel } from '../../../services/local/model.ts'
import { listen } from '../../../services/shared/http/serve.ts'
import type { Service } from '../../../services/shared/http/serve.ts'
import { start } from '../../../services/worker/start.ts'
import { freePort } from '../../support/free-port.ts'
import { programPath } from '../../support/program.ts'
import { isSilent, refuses, says } from '../crew/fake-model.ts'
import { openWorker, silent, workerEnv } from './harness.ts'
import { startDuration } from '../../support/duration.ts'

const { deploy, model, platform } = await openWorker()
let demo: Service

beforeAll(async () => {
  demo = await startModel({ port: 0, log: silent, latencyMs: 1 })
})

afterAll(() => demo.stop())

function spawnWorker(): ChildProcess {
  return spawn(process.execPath, [programPath('worker')], {
    env: { LOG_LEVEL: 'silent', ...workerEnv(platform.url) },
    stdio: 'inherit',
  })
}

async function metricsOf({ url }: Service): Promise<string> {
  return (await fetch(`${url}/metrics`)).text()
}

describe('a worker (SPEC 1)', () => {
  it('runs a kickoff on its crew, and stores output, usage and progress', async () => {
    await deploy({ OPENAI_BASE_URL: `${demo.url}/v1` })
    await platform.startWorker()
    const id = await platform.kickoff({ topic: 'blue whales' })
    const run = await platform.until(id, 'completed')
    expect(run.output).toContain('Write a summary of blue whales.')
    expect(run.output).toContain('built-in demo model')
    expect(run.usage).toEqual({ inputTokens: expect.any(Number), outputTokens: expect.any(Number) })
    expect(run.usage?.inputTokens).toBeGreaterThan(50)
    expect(run).toMatchObject({ attempt: 1, error: null })
    const events = await platform.events(id)
    expect(events.map(({ type }) => type)).toEqual([
      'crew_started',
      'task_started',
      'llm_call',
      'task_completed',
      'task_started',
      'llm_call',
      'task_completed',
      'crew_completed',
    ])
    // The conversation belongs into the trace.
    expect(events[2]).not.toHaveProperty('messages_in')
    expect(events[2]).toMatchObject({ request_model: 'test-model', finish_reason: 'stop' })
  })

  it('is woken by each kickoff, also after its connections were cut', async () => {
    await deploy({ OPENAI_BASE_URL: `${demo.url}/v1` })
    await platform.startWorker()
    const waits = async (): Promise<number[]> => {
      const seconds = []
      for (let i = 0; i < 4; i += 1) {
        const id = await platform.kickoff()
        const { startedAt, queuedAt } = await platform.until(id, 'completed')
        seconds.push(Number(startedAt) - Number(queuedAt))
      }
      return seconds
    }
    // Polling alone would find one of the four after more than a second, most likely.
    expect(Math.max(...(await waits()))).toBeLessThan(1000)
    await platform.sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'worker' and datname = current_database()`
    // The last of its channels.
    const listening = () => platform.sql`
      select 1 from pg_stat_activity where application_name = 'worker'
        and datname = current_database() and query like 'listen%called_run_ended%'`
    await expect.poll(async () => (await listening()).length).toBe(1)
    expect(Math.max(...(await waits()))).toBeLessThan(1000)
  })

  it('keeps the connection to a crew for the next run', async () => {
    const crew = await deploy({ OPENAI_BASE_URL: `${demo.url}/v1` })
    let kickoffs = 0
    const door = createServer((socket) => {
      socket.once('data', (bytes) => (kickoffs += bytes.includes('POST /kickoff') ? 1 : 0))
      const behind = connect(Number(new URL(crew.url).port), '127.0.0.1')
      socket.pipe(behind).pipe(socket)
      for (const each of [socket, behind])
        each.on('error', () => [socket, behind].map((x) => x.destroy()))
    })
    await listen(door, 0, '127.0.0.1')
    await platform.deployAt(`http://127.0.0.1:${(door.address() as AddressInfo).port}`)
    const worker = await platform.startWorker()
    for (let runs = 0; runs < 3; runs += 1) {
      await platform.until(await platform.kickoff(), 'completed')
    }
    expect(kickoffs).toBe(1)
    await worker.stop()
    door.close()
  })

  it('runs as many at a time as it may', async () => {
    await deploy()
    model.play(isSilent)
    const worker = await platform.startWorker({ WORKER_CONCURRENCY: '2' })
    for (let i = 0; i < 3; i += 1) await platform.kickoff()
    await expect.poll(() => model.requests.length).toBe(2)
    const metrics = await metricsOf(worker)
    expect(metrics).toContain('worker_executions_running 2')
    expect(metrics).toContain('worker_queue_due 1')
    expect(metrics).toMatch(/worker_queue_oldest_seconds [\d.]+/)
  })

  it('shares the queue with others: every run is done once', async () => {
    await deploy()
    model.play(says('fine'))
    await Promise.all([1, 2, 3].map(() => platform.startWorker({ WORKER_CONCURRENCY: '4' })))
    const ids = await Promise.all(Array.from({ length: 30 }, () => platform.kickoff()))
    const runs = await Promise.all(ids.map((id) => platform.until(id, 'completed')))
    expect(runs.map(({ attempt }) => attempt)).toEqual(ids.map(() => 1))
    expect(model.requests).toHaveLength(60)
  })

  it('finishes a run whose database connections were cut in the middle', async () => {
    await deploy()
    let answer = (): void => {}
    model.play(
      (response, request) => void (answer = () => says('Facts.')(response, request)),
      says('A summary.'),
    )
    const arrival = model.arrival()
    await platform.startWorker()
    const id = await platform.kickoff()
    await arrival
    await platform.sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'worker' and datname = current_database()`
    answer()
    expect(await platform.until(id, 'completed')).toMatchObject({ attempt: 1 })
    expect(await platform.events(id)).toHaveLength(8)
  })

  it('stores the error of a crew that fails', async () => {
    await deploy()
    model.play(refuses(401, 'no such key'))
    const worker = await platform.startWorker()
    const { error } = await platform.until(await platform.kickoff(), 'error')
    expect(error).toEqual({
      code: 'llm_rejected',
      message: expect.stringContaining('HTTP 401: no such key'),
    })
    // A run is counted once it is stored.
    const metrics = () => metricsOf(worker)
    await expect.poll(metrics).toContain('worker_executions_total{outcome="error"} 1')
    expect(await metrics()).toContain('worker_execution_duration_seconds_count{outcome="error"} 1')
  })

  it('tries an unavailable crew again until it responds', async () => {
    const port = await freePort()
    await platform.deployAt(`http://127.0.0.1:${port}`)
    const worker = await platform.startWorker()
    const id = await platform.kickoff()
    const unavailable = async () => /worker_crew_away_total ([1-9])/.test(await metricsOf(worker))
    await expect.poll(unavailable).toBe(true)
    await deploy({ OPENAI_BASE_URL: `${demo.url}/v1`, PORT: String(port) })
    expect(await platform.until(id, 'completed')).toMatchObject({ attempt: 1 })
  })

  it('tells what it tried when the crew is never there', async () => {
    const port = await freePort()
    await platform.deployAt(`http://127.0.0.1:${port}`)
    await platform.startWorker({ CREW_PATIENCE_SECONDS: '1' })
    const { error } = await platform.until(await platform.kickoff(), 'error')
    expect(error?.code).toBe('crew_unreachable')
    expect(error?.message).toMatch(
      new RegExp(`crew at 127\\.0\\.0\\.1:${port} .*ECONNREFUSED.*Tried \\d times in 1 s.*log`),
    )
  })
})

describe('a worker that ends', () => {
  it('is replaced when it is killed: another finishes the run, once', async () => {
    await deploy()
    model.play(isSilent)
    const arrival = model.arrival()
    const child = spawnWorker()
    const id = await platform.kickoff()
    const request = await arrival
    const exit = once(child, 'exit')
    child.kill('SIGKILL')
    await exit
    await request.abandoned
    expect(await platform.get(id)).toMatchObject({ status: 'running', attempt: 1 })
    await platform.sql`update executions set lease_expires_at = now() - interval '1 second'`
    model.play(says('Facts.'), says('A summary.'))
    await platform.startWorker()
    const run = await platform.until(id, 'completed')
    expect(run).toMatchObject({ attempt: 2, output: 'A summary.' })
    expect(model.requests).toHaveLength(3)
    const types = (await platform.events(id)).map(({ type }) => type)
    // The task in which the worker was killed is announced once.
    expect(types.filter((type) => type === 'task_started')).toHaveLength(2)
    expect(types.filter((type) => type === 'task_completed')).toHaveLength(2)
  })

  it('ends cleanly on SIGTERM, and its run is in the queue again', async () => {
    await deploy()
    model.play(isSilent)
    const arrival = model.arrival()
    const child = spawnWorker()
    const id = await platform.kickoff()
    await arrival
    const exit = once(child, 'exit')
    child.kill('SIGTERM')
    expect(await exit).toEqual([0, null])
    expect(await platform.get(id)).toMatchObject({ status: 'queued', attempt: 1 })
  })

  it('hands its runs over with their progress when it has to stop', async () => {
    await deploy()
    model.play(isSilent)
    const arrival = model.arrival()
    const worker = await platform.startWorker({ WORKER_DRAIN_SECONDS: '0' })
    const id = await platform.kickoff()
    const request = await arrival
    const told = [
      [1, 'crew_started'],
      [1, 'task_started'],
    ]
    await expect.poll(() => platform.attempts(id)).toEqual(told)
    await worker.stop()
    await request.abandoned
    expect(await platform.get(id)).toMatchObject({ status: 'queued', attempt: 1 })
    model.play(says('Facts.'), says('A summary.'))
    await platform.startWorker()
    expect(await platform.until(id, 'completed')).toMatchObject({ attempt: 2 })
    expect((await platform.attempts(id)).slice(0, 3)).toEqual([...told, [2, 'crew_started']])
  })

  it('continues a run on the next pod of a replaced crew, and counts nothing as lost', async () => {
    const crew = await deploy({ CREW_DRAIN_SECONDS: '1' })
    model.play(says('Facts.'), isSilent)
    await platform.startWorker()
    const id = await platform.kickoff()
    // The second task is under way.
    await expect.poll(() => model.requests).toHaveLength(2)
    model.play(says('Facts.'), says('A summary.'))
    const stopped = crew.stop()
    await deploy()
    await stopped
    expect(await platform.until(id, 'completed')).toMatchObject({ attempt: 2 })
    const attempts = await platform.attempts(id)
    expect(attempts).toContainEqual([1, 'task_completed'])
    expect(attempts).toContainEqual([1, 'crew_stopping'])
    const [row] = await platform.sql<
      [{ lostAttempts: number }]
    >`select lost_attempts from executions`
    expect(row.lostAttempts).toBe(0)
  })

  it('deletes runs whose retention is over, and says how many', async () => {
    const old = await platform.kickoff()
    const young = await platform.kickoff()
    await platform.sql`
      update executions set status = 'stopped',
        finished_at = now() - make_interval(days => case id when ${old} then 10 else 6 end)`
    const worker = await platform.startWorker({ RUNS_RETENTION_DAYS: '7' })
    await expect.poll(() => platform.get(old)).toBeUndefined()
    expect(await platform.get(young)).toMatchObject({ status: 'stopped' })
    await expect.poll(() => metricsOf(worker)).toMatch(/worker_executions_expired_total 1$/m)
  })

  it('hands its runs over after the calls in flight, and takes nothing more', async () => {
    await deploy()
    let answer = (): void => {}
    model.play(
      (response, request) => void (answer = () => says('Facts.')(response, request)),
      says('A summary.'),
    )
    const arrival = model.arrival()
    const worker = await platform.startWorker({ WORKER_DRAIN_SECONDS: '10' })
    const id = await platform.kickoff()
    await arrival
    const stopped = worker.stop()
    const next = await platform.kickoff()
    expect((await fetch(`${worker.url}/health`)).status).toBe(503)
    answer()
    await stopped
    expect(await platform.get(id)).toMatchObject({ status: 'queued', attempt: 1 })
    expect(await platform.get(next)).toMatchObject({ status: 'queued' })
    expect(model.requests).toHaveLength(1)
    await platform.startWorker()
    const run = await platform.until(id, 'completed')
    expect(run).toMatchObject({ attempt: 2, output: 'A summary.' })
    expect(run.usage).toEqual({ inputTokens: 20, outputTokens: 10 })
    await platform.until(next, 'completed')
    expect(model.requests).toHaveLength(4)
  })
})

describe('a run that somebody stops', () => {
  it('is let go of at once, long before its lease would have been renewed', async () => {
    model.play(isSilent)
    await deploy()
    const arrival = model.arrival()
    await platform.startWorker()
    const id = await platform.kickoff()
    const request = await arrival
    const stopping = startDuration('abandoning the call to the model')
    await stopRun(platform.sql, id)
    await request.abandoned
    stopping.expectBelow(9000)
    expect(await platform.get(id)).toMatchObject({ status: 'stopped', output: null, error: null })
  })
})

describe('a worker’s own surface', () => {
  it('is healthy while the database answers (SPEC 1)', async () => {
    const worker = await platform.startWorker()
    const response = await fetch(`${worker.url}/health`)
    expect([response.status, await response.json()]).toEqual([200, { status: 'ok' }])
    expect((await fetch(`${worker.url}/nothing`)).status).toBe(404)
  })

  it('tells an autoscaler how many runs there are for the workers', async () => {
    const worker = await platform.startWorker()
    const idle = { runs: 0, waiting: 0, running: 0, oldest_seconds: 0 }
    expect(await (await fetch(`${worker.url}/queue`)).json()).toEqual(idle)
  })

  it('starts without the database, and says so', async () => {
    const unavailable = `postgres://u:p@127.0.0.1:${await freePort()}/none`
    const worker = await platform.startWorker({ DATABASE_URL: unavailable })
    const response = await fetch(`${worker.url}/health`)
    expect([response.status, await response.json()]).toEqual([503, { status: 'fail' }])
    expect((await fetch(`${worker.url}/health/live`)).status).toBe(200)
    expect(await metricsOf(worker)).toMatch(/worker_queue_due nan/i)
    const queue = await fetch(`${worker.url}/queue`)
    expect([queue.status, await queue.json()]).toMatchObject([503, { error: 'unavailable' }])
  })

  it.each([
    ['a collector without a secret', { COLLECTOR_URL: 'http://collector:8080' }],
    ['a short secret', { SECRET_KEY_BASE: 'x' }],
    ['no concurrency', { WORKER_CONCURRENCY: '0' }],
  ])('is refused with %s', async (_, env) => {
    const starting = start({ ...workerEnv(platform.url), ...env }, { log: silent })
    await expect(starting).rejects.toMatchObject({ code: 'invalid_configuration' })
  })
})
