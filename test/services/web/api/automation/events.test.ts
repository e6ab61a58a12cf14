import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { completeRun, retryRun, takeRuns } from '../../../../../services/platform/runs/run-queue.ts'
import type { LeasedRun } from '../../../../../services/platform/runs/run-queue.ts'
import { recordEvent } from '../../../../support/record-event.ts'
import { stopRun, kickoff } from '../../../../../services/platform/runs/runs.ts'
import { readEvents } from '../../../../../services/platform/runs/run-events.ts'
import { publishTexts } from '../../../../../services/platform/runs/run-texts.ts'
import { createLog } from '../../../../../services/shared/log.ts'
import type { Service } from '../../../../../services/shared/http/serve.ts'
import { start } from '../../../../../services/web/start.ts'
import { until } from '../../../../support/until.ts'
import { environment, openPlatform, readObject } from '../../support/platform.ts'
import type { Platform } from '../../support/platform.ts'

const USAGE = { inputTokens: 1, outputTokens: 2 }
const silent = createLog({ name: 'web', level: 'silent' })
const serveWeb = () => start(environment(platform.url), { log: silent, lingerMs: 0 })
let platform: Platform
let service: Service
let token: string

beforeAll(async () => {
  platform = await openPlatform()
  token = await platform.issueToken(platform.acme)
  service = await serveWeb()
})

beforeEach(async () => {
  await platform.sql`delete from executions`
})

afterAll(async () => {
  await service.stop()
  await platform.close()
})

const call = (path: string, headers: Record<string, string> = {}, { url } = service) =>
  fetch(`${url}/platform/api/v1/crew/${platform.acme.research.automationId}/${path}`, {
    headers: { authorization: `Bearer ${token}`, ...headers },
  })

interface Message {
  readonly id: number
  readonly type: string
  readonly [field: string]: unknown
}

/** The messages of a stream, one after the other, as a client reads them. */
async function* messagesOf(response: Response): AsyncGenerator<Message, void> {
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  let text = ''
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    text += Buffer.from(chunk).toString()
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const lines = text.slice(0, end).split('\n')
      text = text.slice(end + 2)
      const [id, data] = ['id: ', 'data: '].map((name) =>
        lines.find((line) => line.startsWith(name))?.slice(name.length),
      )
      if (data === undefined) continue
      const message = JSON.parse(data) as Message
      // What is not kept has no id: a client that connects again cannot ask for it.
      expect(message.id).toBe(id === undefined ? undefined : Number(id))
      expect(id === undefined).toBe(message.type === 'text_delta')
      yield message
    }
  }
}

async function collect(response: Response): Promise<Message[]> {
  const all: Message[] = []
  for await (const each of messagesOf(response)) all.push(each)
  return all
}

const queue = () =>
  kickoff(platform.sql, { deploymentId: platform.acme.research.id, inputs: { topic: 'x' } })

async function take(): Promise<LeasedRun> {
  await platform.sql`update executions set available_at = now() where status = 'queued'`
  const [lease] = await takeRuns(platform.sql, 1)
  if (!lease) throw new Error('nothing to take')
  return lease
}

async function tell(lease: LeasedRun, types: readonly string[], from = 0): Promise<void> {
  for (const [index, type] of types.entries()) {
    await recordEvent(platform.sql, lease, { position: from + index, event: { type, x: '\n☃' } })
  }
}

/** A run that took two attempts, with one event after the other and its end. */
async function performed(): Promise<string> {
  const id = await queue()
  const first = await take()
  await tell(first, ['crew_started', 'task_started'])
  await retryRun(platform.sql, first, 0)
  const second = await take()
  await tell(second, ['crew_started', 'a_type_of_tomorrow', 'task_completed'])
  await completeRun(platform.sql, second, { output: 'Whales.', usage: USAGE })
  return id
}

describe('GET events', () => {
  it('tells what happened and what happens, over all attempts, up to the end', async () => {
    const id = await queue()
    const first = await take()
    await tell(first, ['crew_started'])
    const messages = messagesOf(await call(`events/${id}`))
    const next = async () => (await messages.next()).value
    expect(await next()).toEqual({ id: 1, attempt: 1, type: 'crew_started', x: '\n☃' })
    const waiting = next()
    await tell(first, ['task_started'], 1)
    expect(await waiting).toMatchObject({ id: 2, attempt: 1, type: 'task_started' })
    await retryRun(platform.sql, first, 0)
    const second = await take()
    const later = next()
    await tell(second, ['crew_started', 'crew_completed'])
    expect(await later).toMatchObject({ id: 3, attempt: 2, type: 'crew_started' })
    expect(await next()).toMatchObject({ id: 4, attempt: 2, type: 'crew_completed' })
    await completeRun(platform.sql, second, { output: 'Whales.', usage: USAGE })
    expect(await next()).toEqual({
      id: 5,
      attempt: 2,
      type: 'run_completed',
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      status: 'completed',
      output: 'Whales.',
      error: null,
      usage: { input_tokens: 1, output_tokens: 2 },
    })
    expect(await messages.next()).toEqual({ done: true, value: undefined })
  })

  it('goes on after any event as if the stream had not broken off', async () => {
    const id = await performed()
    const all = await collect(await call(`events/${id}`))
    expect(all.map(({ id: number, type }) => [number, type])).toEqual([
      [1, 'crew_started'],
      [2, 'task_started'],
      [3, 'crew_started'],
      [4, 'a_type_of_tomorrow'],
      [5, 'task_completed'],
      [6, 'run_completed'],
    ])
    for (const { id: number } of all.slice(0, -1)) {
      const rest = await collect(await call(`events/${id}`, { 'last-event-id': String(number) }))
      expect(rest).toEqual(all.slice(number))
      expect(await collect(await call(`events/${id}?after=${number}`))).toEqual(rest)
    }
    const over = await call(`events/${id}`, { 'last-event-id': '6' })
    expect([over.status, await over.text()]).toEqual([204, ''])
  })

  it('tells what models are writing to those who ask for it, up to the whole of it', async () => {
    const id = await queue()
    const lease = await take()
    await tell(lease, ['crew_started'])
    const [plain, full] = await Promise.all([
      call(`events/${id}`),
      call(`events/${id}?text_deltas=true`),
    ])
    const messages = messagesOf(full)
    expect(await messages.next()).toMatchObject({ value: { type: 'crew_started' } })
    const text = { run: id, step: 's1', task: 'research', agent: 'researcher' }
    const waiting = messages.next()
    // More than once: the service may still be connecting to the channel.
    const told = new AbortController()
    const telling = until(async () => {
      await publishTexts(platform.sql, [{ ...text, offset: 0, text: 'Wha' }])
      return told.signal.aborted
    })
    const { run: _run, ...shown } = text
    const first = { type: 'text_delta', ...shown, offset: 0, text: 'Wha' }
    expect((await waiting).value).toEqual(first)
    told.abort()
    await telling
    await recordEvent(platform.sql, lease, { position: 1, event: { type: 'llm_call', step: 's1' } })
    const rest = async (): Promise<Message> => {
      const { value } = await messages.next()
      if (!value) throw new Error('the stream has ended')
      return value.type === 'text_delta' ? rest() : value
    }
    expect(await rest()).toMatchObject({ type: 'llm_call' })
    await publishTexts(platform.sql, [
      { ...text, offset: 3, text: 'les.' },
      { ...text, step: 's2', offset: 0, text: 'More' },
    ])
    expect((await messages.next()).value).toMatchObject({ step: 's2', text: 'More' })
    await stopRun(platform.sql, id)
    expect(await rest()).toMatchObject({ type: 'run_stopped' })
    const types = (await collect(plain)).map(({ type }) => type)
    expect(types).toEqual(['crew_started', 'llm_call', 'run_stopped'])
  })

  it('gives pages to callers that accept only JSON', async () => {
    const id = await performed()
    const page = async (query: string) =>
      readObject(await call(`events/${id}${query}`, { accept: 'application/json' }))
    expect(await page('?limit=2')).toEqual({
      events: [expect.objectContaining({ id: 1 }), expect.objectContaining({ id: 2 })],
      after: 2,
      is_over: false,
    })
    const rest = await page('?limit=10&after=2')
    expect(rest).toMatchObject({ after: 6, is_over: true })
    expect(rest['events']).toHaveLength(4)
    expect(await page('?after=6')).toEqual({ events: [], after: 6, is_over: true })
  })

  const refused = [
    { what: '?after=7', reason: 'no event 7: its newest one is 6' },
    { what: 'last-event-id: x', reason: 'Last-Event-ID must be a whole number' },
    { what: '?after=1.5', reason: 'after must be a whole number' },
    { what: '?text_deltas=yes', reason: 'text_deltas is "yes"; send true or false' },
    { what: '?limit=1001', reason: 'limit must be a whole number between 1 and 1000' },
  ]
  it.each(refused)('refuses $what', async ({ what, reason }) => {
    const [name = '', value = ''] = what.split(': ')
    const isHeader = value !== ''
    const headers = isHeader ? { [name]: value } : {}
    const response = await call(`events/${await performed()}${isHeader ? '' : what}`, headers)
    expect(response.status).toBe(400)
    expect((await readObject(response))['message']).toContain(reason)
  })

  it('answers 404 for a run of another automation, and 401 without a token', async () => {
    const { digest } = platform.acme
    const id = await kickoff(platform.sql, { deploymentId: digest.id, inputs: {} })
    expect((await call(`events/${id}`)).status).toBe(404)
    expect((await call(`events/${id}`, { authorization: '' })).status).toBe(401)
  })

  it('has the end of a stopped run behind all of its events, whoever is faster', async () => {
    for (let round = 0; round < 10; round += 1) {
      const id = await queue()
      const lease = await take()
      const following = call(`events/${id}`).then(collect)
      const events = Array.from({ length: 6 }, (_, position) =>
        recordEvent(platform.sql, lease, { position, event: { type: 'step' } }),
      )
      await Promise.all([...events, stopRun(platform.sql, id)])
      const told = await following
      const { events: stored } = await readEvents(platform.sql, id, { after: 0, limit: 100 })
      expect(told.map((each) => each.id)).toEqual(stored.map(({ number }) => number))
      expect(told.map((each) => each.id)).toEqual(told.map((_, index) => index + 1))
      expect(told.at(-1)).toMatchObject({ type: 'run_stopped', status: 'stopped' })
    }
  })

  it('goes on after the database dropped the connection that listens', async () => {
    const id = await queue()
    const lease = await take()
    const messages = messagesOf(await call(`events/${id}`))
    await tell(lease, ['crew_started'])
    expect(await messages.next()).toMatchObject({ value: { id: 1 } })
    const [{ ended }] = await platform.sql<[{ ended: number }]>`
      select count(pg_terminate_backend(pid))::int as ended from pg_stat_activity
      where datname = current_database() and query ilike 'listen%'`
    expect(ended).toBeGreaterThan(0)
    await tell(lease, ['task_started'], 1)
    expect(await messages.next()).toMatchObject({ value: { id: 2, type: 'task_started' } })
    await stopRun(platform.sql, id)
    expect(await messages.next()).toMatchObject({ value: { id: 3, type: 'run_stopped' } })
  })

  it('ends the streams of a service that stops, and their clients go on at another', async () => {
    const own = await serveWeb()
    const id = await queue()
    const lease = await take()
    await tell(lease, ['crew_started'])
    const messages = messagesOf(await call(`events/${id}`, {}, own))
    expect(await messages.next()).toMatchObject({ value: { id: 1 } })
    await Promise.all([own.stop(), expect(messages.next()).resolves.toMatchObject({ done: true })])
    await stopRun(platform.sql, id)
    const rest = await collect(await call(`events/${id}`, { 'last-event-id': '1' }))
    expect(rest).toMatchObject([{ id: 2, type: 'run_stopped' }])
  })

  it('opens fifty streams with one token, and another one when one of them is closed', async () => {
    const id = await queue()
    const open = new AbortController()
    const url = `${service.url}/platform/api/v1/crew/${platform.acme.research.automationId}`
    const follow = () =>
      fetch(`${url}/events/${id}`, {
        headers: { authorization: `Bearer ${token}` },
        signal: open.signal,
      })
    const streams = await Promise.all(Array.from({ length: 50 }, follow))
    expect(streams.every(({ status }) => status === 200)).toBe(true)
    const refusedStream = await follow()
    expect(refusedStream.status).toBe(429)
    expect(refusedStream.headers.get('retry-after')).toBe('10')
    const other = await platform.issueToken(platform.acme)
    const another = await call(`events/${id}`, { authorization: `Bearer ${other}` })
    expect(another.status).toBe(200)
    await another.body?.cancel()
    // A wait that finds no room is answered at once.
    expect(await readObject(await call(`status/${id}?wait=60`))).toMatchObject({ status: 'queued' })
    open.abort()
    await until(async () => {
      const again = await call(`events/${id}`)
      await again.body?.cancel()
      return again.status === 200
    })
  })
})

describe('GET status with a wait', () => {
  it('answers when the run has ended, and not for each of its events', async () => {
    const id = await queue()
    const answered = call(`status/${id}?wait=60`).then(readObject)
    const lease = await take()
    await tell(lease, ['crew_started', 'task_started'])
    await completeRun(platform.sql, lease, { output: 'Whales.', usage: USAGE })
    expect(await answered).toMatchObject({ status: 'completed', output: 'Whales.' })
    expect(await readObject(await call(`status/${id}?wait=60`))).toMatchObject({
      output: 'Whales.',
    })
  })

  it('answers with the run as it is when the time is over', async () => {
    const response = await call(`status/${await queue()}?wait=1`)
    expect(response.headers.get('retry-after')).toBe('2')
    expect(await response.json()).toMatchObject({ status: 'queued', finished_at: null })
  })

  it.each(['61', '-1', '', '1.5', 'x'])('refuses to wait for "%s" seconds', async (wait) => {
    const response = await call(`status/${await queue()}?wait=${wait}`)
    expect(response.status).toBe(400)
    expect(await readObject(response)).toMatchObject({
      message: `wait must be a whole number between 0 and 60; it is "${wait}".`,
    })
  })
})
