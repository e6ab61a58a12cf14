import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Webhook as Receiver } from 'standardwebhooks'
import { completeRun } from '../../../services/platform/runs/run-queue.ts'
import type { LeasedRun } from '../../../services/platform/runs/run-queue.ts'
import { stopRun } from '../../../services/platform/runs/runs.ts'
import {
  deleteExpiredMessages,
  findDelivery,
  listDeliveries,
  redeliver,
  sendTestMessage,
} from '../../../services/platform/webhooks/webhook-deliveries.ts'
import {
  createWebhookKeys,
  createWebhookSecret,
} from '../../../services/platform/webhooks/webhook-keys.ts'
import {
  settleAccepted,
  settleRefused,
  takeHead,
  takeLines,
} from '../../../services/platform/webhooks/webhook-outbox.ts'
import {
  createWebhook,
  deleteWebhook,
  findWebhook,
  resumeWebhook,
  rotateWebhookKey,
} from '../../../services/platform/webhooks/webhooks.ts'
import type { Webhook, WebhookFormat } from '../../../services/platform/webhooks/webhooks.ts'
import { startWebhookSender } from '../../../services/worker/webhooks/sender.ts'
import type { SenderDeps } from '../../../services/worker/webhooks/sender.ts'
import { resealKeys } from '../../../services/tasks/reseal-keys.ts'
import { guardFor } from '../../support/outgoing.ts'
import { seedAutomation } from '../../support/platform.ts'
import { recordEvent } from '../../support/record-event.ts'
import { until } from '../../support/until.ts'
import { useOneAutomation } from '../platform/one-automation.ts'
import { SECRET_KEY_BASE, silent } from './harness.ts'

const USAGE = { inputTokens: 1, outputTokens: 1 }
const platform = useOneAutomation()
const keys = createWebhookKeys(SECRET_KEY_BASE)
const closing: (() => Promise<unknown>)[] = []

beforeEach(async () => {
  await platform.sql`delete from webhook_lines`
  await platform.sql`delete from webhook_messages`
  await platform.sql`delete from webhooks`
})

afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

interface Received {
  readonly path: string
  readonly headers: Record<string, string>
  readonly body: string
}

type Answer = (response: ServerResponse, call: Received) => void
const accept: Answer = (response) => response.writeHead(204).end()
const status =
  (code: number, headers: Record<string, string> = {}): Answer =>
  (response) =>
    response.writeHead(code, headers).end('<html>no</html>')

/** A receiver of webhooks that answers as it is told, and keeps what it got. */
async function openReceiver(first: Answer = accept) {
  const received: Received[] = []
  const state = { answer: first }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const call = {
        path: request.url ?? '',
        headers: textsOf(request.headers),
        body: Buffer.concat(chunks).toString(),
      }
      received.push(call)
      state.answer(response, call)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(async () => {
    server.closeAllConnections()
    server.close()
  })
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    origin,
    received,
    answerWith: (answer: Answer) => void (state.answer = answer),
    types: () => received.map(({ body }) => (JSON.parse(body) as { type: string }).type),
    ids: () => received.map(({ headers }) => headers['webhook-id'] ?? ''),
  }
}

const textsOf = (headers: IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))

async function hook(
  url: string,
  eventTypes: readonly string[] = ['*'],
  format: WebhookFormat = 'standard',
) {
  const id = randomUUID()
  const deploymentId = platform.automation.id
  const secret = createWebhookSecret()
  const sealedKey = keys.seal(secret, { id, deploymentId })
  const webhook = await createWebhook(platform.sql, {
    id,
    deploymentId,
    url,
    eventTypes,
    format,
    sealedKey,
  })
  return { ...webhook, secret }
}

/** Starts a sender that tries again soon. */
function startSender(origins: readonly string[], deps: Partial<SenderDeps> = {}) {
  const sender = startWebhookSender({
    sql: platform.sql,
    log: silent,
    guard: guardFor(...origins),
    secretKeyBase: SECRET_KEY_BASE,
    onAttempt: () => {},
    limits: { leaseSeconds: 60, retrySeconds: [0, 0, 0] },
    ...deps,
  })
  closing.push(() => sender.stop(0))
  return sender
}

async function begin(): Promise<LeasedRun> {
  await platform.enqueue()
  return platform.takeOne()
}

const record = (run: LeasedRun, position: number, event: { type: string; output?: string }) =>
  recordEvent(platform.sql, run, { position, event: { ...event } })
const tell = (run: LeasedRun, type: string, position: number) => record(run, position, { type })

const settled = (count: number) =>
  until(async () => {
    const [row] = await platform.sql<[{ ended: number }]>`
      select count(*)::int as ended from webhook_messages where state <> 'waiting'`
    return row.ended === count
  })

const deliveries = async ({ id }: Webhook) =>
  (await listDeliveries(platform.sql, id, { limit: 50 })).items
const reload = async (webhook: Webhook) => findWebhook(platform.sql, webhook)

describe('webhooks', () => {
  it.each(['slack', 'teams'] as const)('take a signed text for a channel: %s', async (format) => {
    const receiver = await openReceiver()
    const { id, secret } = await hook(`${receiver.origin}/`, ['run_stopped'], format)
    const words = '<!channel> fails & [more](https://x.example)'
    const payload = { type: 'alert_firing', timestamp: '', data: { text: words } }
    await platform.sql`
      select line_up_webhook_message(${id}, ${randomUUID()}, 'alert_firing',
        ${platform.sql.json(payload)})`
    await sendTestMessage(platform.sql, { webhookId: id, automationId: 'a' })
    startSender([receiver.origin])
    await settled(2)
    const bodies = receiver.received.map(({ body, headers }) =>
      JSON.stringify(new Receiver(secret).verify(body, headers)),
    )
    const text =
      format === 'slack' ? '&lt;!channel&gt; fails &amp; [more](https://x.example)' : words
    expect(bodies.some((body) => body.includes(`"text":"${text}"`))).toBe(true)
    expect(bodies.some((body) => body.includes('"text":"webhook_test: automation a"'))).toBe(true)
    expect(bodies.every((body) => body.includes('TextRun') === (format === 'teams'))).toBe(true)
  })

  it('tell of the events that they want, in order, signed as the standard has it', async () => {
    const receiver = await openReceiver()
    const all = await hook(`${receiver.origin}/all`)
    const ends = await hook(`${receiver.origin}/ends`, ['run_completed', 'task_completed'])
    const run = await begin()
    await tell(run, 'crew_started', 0)
    await record(run, 1, { type: 'a_type_of_tomorrow', output: '☃' })
    await record(run, 2, { type: 'task_completed', output: 'Whales.' })
    await completeRun(platform.sql, run, { output: 'Whales.', usage: USAGE })
    startSender([receiver.origin])
    await settled(6)
    const at = (path: string) => receiver.received.filter((each) => each.path === path)
    const bodies = at('/all').map(({ body, headers }) =>
      new Receiver(all.secret).verify(body, headers),
    )
    const ids = { kickoff_id: run.id, automation_id: platform.automation.automationId, attempt: 1 }
    const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
    expect(bodies).toEqual([
      { type: 'crew_started', timestamp, data: { ...ids, number: 1 } },
      { type: 'a_type_of_tomorrow', timestamp, data: { ...ids, number: 2, output: '☃' } },
      {
        type: 'task_completed',
        timestamp,
        data: { ...ids, number: 3, output: 'Whales.' },
      },
      {
        type: 'run_completed',
        timestamp,
        data: {
          ...ids,
          number: 4,
          at: expect.any(String),
          status: 'completed',
          output: 'Whales.',
          error: null,
          usage: { input_tokens: 1, output_tokens: 1 },
        },
      },
    ])
    const [first] = at('/ends')
    expect(at('/ends').map(({ body }) => JSON.parse(body) as unknown)).toMatchObject([
      { type: 'task_completed' },
      { type: 'run_completed' },
    ])
    expect(() => new Receiver(all.secret).verify(first?.body ?? '', first?.headers ?? {})).toThrow()
    expect(new Set(receiver.ids()).size).toBe(6)
    expect(await platform.sql`select from webhook_lines`).toHaveLength(0)
    expect(await deliveries(ends)).toMatchObject([
      { type: 'run_completed', state: 'delivered', attempts: 1, status: 204, kickoffId: run.id },
      { type: 'task_completed', state: 'delivered', problem: null },
    ])
  })

  it('tell of a stopped run, and nothing of an event whose transaction failed', async () => {
    const receiver = await openReceiver()
    await hook(receiver.origin)
    startSender([receiver.origin])
    const run = await begin()
    await platform.sql
      .begin(async (tx) => {
        await recordEvent(tx, run, { position: 0, event: { type: 'never' } })
        throw new Error('rolled back')
      })
      .catch(() => {})
    await stopRun(platform.sql, run.id)
    await settled(1)
    expect(receiver.types()).toEqual(['run_stopped'])
  })

  it('leave out what is too large, and say so', async () => {
    const receiver = await openReceiver()
    await hook(receiver.origin)
    const run = await begin()
    await record(run, 0, { type: 'task_completed', output: 'x'.repeat(300_000) })
    startSender([receiver.origin])
    await settled(1)
    expect(JSON.parse(receiver.received[0]?.body ?? '')).toMatchObject({
      type: 'task_completed',
      data: { kickoff_id: run.id, number: 1, truncated: true },
    })
  })

  it('hold back a run of which a message is not accepted, and no other run', async () => {
    const receiver = await openReceiver()
    await hook(receiver.origin)
    const bad = await begin()
    const good = await begin()
    let refusals = 0
    receiver.answerWith((response, call) => {
      const isBad = call.body.includes(bad.id) && call.body.includes('"number": 2')
      if (isBad && refusals < 2) {
        refusals += 1
        response.writeHead(500).end()
      } else accept(response, call)
    })
    for (let position = 0; position < 4; position += 1) {
      await tell(bad, `bad_${position}`, position)
      await tell(good, `good_${position}`, position)
    }
    startSender([receiver.origin], { limits: { leaseSeconds: 60, retrySeconds: [1, 1, 1] } })
    await settled(8)
    const told = receiver.types()
    expect(told.filter((type) => type.startsWith('good'))).toEqual(
      [0, 1, 2, 3].map((n) => `good_${n}`),
    )
    expect(told.filter((type) => type.startsWith('bad'))).toEqual([
      'bad_0',
      'bad_1',
      'bad_1',
      'bad_1',
      'bad_2',
      'bad_3',
    ])
    const again = receiver.ids().filter((_, index) => told[index] === 'bad_1')
    expect(new Set(again).size).toBe(1)
  })

  it('go on at once when the database ends a connection while an answer is stored', async () => {
    const { sql } = platform
    const receiver = await openReceiver()
    const webhook = await hook(receiver.origin)
    const run = await begin()
    const types = ['first', 'second', 'third']
    for (const [position, type] of types.entries()) await tell(run, type, position)
    await sql.begin(async (tx) => {
      await tx`select from webhook_messages where type = 'first' for update`
      startSender([receiver.origin])
      await until(async () => {
        const ended = await sql`
          select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`
        return ended.length > 0
      })
    })
    await settled(3)
    expect(receiver.types()).toEqual(types)
    expect(new Set(receiver.ids()).size).toBe(3)
    expect(await deliveries(webhook)).toMatchObject(
      types.map(() => ({ state: 'delivered', attempts: 1 })),
    )
  })

  it('sign with both keys while the key changes', async () => {
    const receiver = await openReceiver()
    const webhook = await hook(receiver.origin)
    const secret = createWebhookSecret()
    await rotateWebhookKey(platform.sql, webhook, keys.seal(secret, webhook))
    const { automationId } = platform.automation
    await sendTestMessage(platform.sql, { webhookId: webhook.id, automationId })
    startSender([receiver.origin])
    await settled(1)
    const [{ body, headers } = { body: '', headers: {} }] = receiver.received
    for (const each of [webhook.secret, secret]) {
      expect(new Receiver(each).verify(body, headers)).toEqual({
        type: 'webhook_test',
        timestamp: expect.any(String),
        data: { automation_id: automationId },
      })
    }
    await platform.sql`update webhooks set previous_key_until = now() - interval '1 second'`
    await deleteExpiredMessages(platform.sql)
    await sendTestMessage(platform.sql, { webhookId: webhook.id, automationId })
    await settled(2)
    const last = receiver.received.at(-1)
    expect(new Receiver(secret).verify(last?.body ?? '', last?.headers ?? {})).toBeDefined()
    expect(last?.headers['webhook-signature']?.split(' ')).toHaveLength(1)
  })

  it('are signed while SECRET_KEY_BASE is rotated, and afterwards', async () => {
    const receiver = await openReceiver()
    const webhook = await hook(receiver.origin)
    const { automationId } = platform.automation
    const send = () => sendTestMessage(platform.sql, { webhookId: webhook.id, automationId })
    const secretKeyBase = 'another-secret-key-base-'.repeat(3)
    await send()
    const both = { secretKeyBase, previousSecretKeyBase: SECRET_KEY_BASE }
    const first = startSender([receiver.origin], both)
    await settled(1)
    await first.stop(0)
    await resealKeys(platform.sql, { current: secretKeyBase, previous: SECRET_KEY_BASE }, silent)
    await send()
    startSender([receiver.origin], { secretKeyBase })
    await settled(2)
    for (const { body, headers } of receiver.received) {
      expect(new Receiver(webhook.secret).verify(body, headers)).toBeDefined()
    }
  })
})

describe('a message that is not accepted', () => {
  const bad: [string, Answer, string][] = [
    ['an error', status(500), 'It answered HTTP 500.'],
    [
      'a redirect to the inside',
      status(302, { location: 'http://127.0.0.1:9/' }),
      'It answered HTTP 302, a redirect, which is not followed. Enter the address behind it.',
    ],
    ['silence', () => {}, 'It did not answer within 300 ms.'],
    [
      'half of an answer',
      (response) => {
        response.socket?.end('HTTP/1.1 2')
      },
      'It could not be reached (ECONNRESET).',
    ],
    [
      'no HTTP',
      (response) => {
        response.socket?.end('hello\r\n\r\n')
      },
      'It could not be reached (HPE_INVALID_CONSTANT).',
    ],
  ]
  it.each(bad)('because of %s is tried again, fails, and is told why', async (_, answer, why) => {
    const receiver = await openReceiver(answer)
    const webhook = await hook(receiver.origin)
    const run = await begin()
    await tell(run, 'first', 0)
    startSender([receiver.origin], { tryMs: 300 })
    await settled(1)
    expect(receiver.received).toHaveLength(4)
    expect(new Set(receiver.ids()).size).toBe(1)
    const [delivery] = await deliveries(webhook)
    expect(delivery).toMatchObject({ state: 'failed', attempts: 4, problem: why })
    expect(await reload(webhook)).toMatchObject({ failingSince: expect.any(Date), pausedAt: null })
    const record = await findDelivery(platform.sql, {
      webhookId: webhook.id,
      id: delivery?.id ?? '',
    })
    expect(record?.tries.map(({ number }) => number)).toEqual([4, 3, 2, 1])
    receiver.answerWith(accept)
    await tell(run, 'second', 1)
    await settled(2)
    await expect.poll(() => reload(webhook)).toMatchObject({ failingSince: null })
    expect(await redeliver(platform.sql, webhook.id, 'failed')).toBe(1)
    await settled(2)
    expect(receiver.types().slice(4)).toEqual(['second', 'first'])
    expect(new Set(receiver.ids()).size).toBe(2)
  })

  it('is accepted whatever the answer holds, which is never read', async () => {
    const receiver = await openReceiver((response) => {
      response.writeHead(200, { 'content-type': 'text/html' })
      const write = (): void => {
        if (!response.destroyed) response.write('x'.repeat(65_536), write)
      }
      write()
    })
    const webhook = await hook(receiver.origin)
    await tell(await begin(), 'first', 0)
    startSender([receiver.origin])
    await settled(1)
    expect(await deliveries(webhook)).toMatchObject([{ state: 'delivered', status: 200 }])
  })

  it.each(['http://127.0.0.1:9', 'http://[::1]:9', 'http://169.254.169.254', 'http://localhost:9'])(
    'goes to no private address: %s',
    async (origin) => {
      const webhook = await hook(`${origin}/x`)
      await tell(await begin(), 'first', 0)
      startSender(['http://listed.test'])
      await settled(1)
      const [delivery] = await deliveries(webhook)
      expect(delivery).toMatchObject({ state: 'failed', status: null })
      expect(delivery?.problem).toContain('has no public address')
      expect(delivery?.problem).toContain(`listing ${new URL(origin).origin} in A_SETTING`)
    },
  )

  it('pauses the webhook when the receiver is gone, and is sent when it goes on', async () => {
    const receiver = await openReceiver(status(410))
    const webhook = await hook(receiver.origin)
    const run = await begin()
    await tell(run, 'first', 0)
    startSender([receiver.origin])
    await until(async () => (await reload(webhook))?.pausedAt != null)
    expect(await reload(webhook)).toMatchObject({
      pauseReason: 'The receiver answered HTTP 410 Gone: it wants no more messages.',
    })
    await tell(run, 'second', 1)
    expect(await takeLines(platform.sql, { limit: 9, leaseSeconds: 9 })).toEqual([])
    expect(receiver.received).toHaveLength(1)
    receiver.answerWith(accept)
    await resumeWebhook(platform.sql, webhook)
    await settled(2)
    expect(receiver.types()).toEqual(['first', 'first', 'second'])
  })

  it('pauses a webhook that accepted nothing for most of a day, and is kept', async () => {
    const receiver = await openReceiver(status(503))
    const webhook = await hook(receiver.origin)
    await platform.sql`update webhooks set failing_since = now() - interval '21 hours'`
    await tell(await begin(), 'first', 0)
    startSender([receiver.origin])
    await until(async () => (await reload(webhook))?.pausedAt != null)
    expect(await reload(webhook)).toMatchObject({
      pauseReason: 'Nothing was accepted for 20 hours. The last try: It answered HTTP 503.',
    })
    await until(async () => (await deliveries(webhook))[0]?.attempts === 4)
    expect(await deliveries(webhook)).toMatchObject([{ state: 'waiting' }])
  })
})

describe('the outbox', () => {
  it('gives a line to one sender, turns to organizations, and one line to what fails', async () => {
    const { sql } = platform
    const rival = await seedAutomation(sql, { organization: 'Rival', slug: 'rival' })
    const busy = await hook('http://127.0.0.1:9/busy')
    const failing = await hook('http://127.0.0.1:9/failing')
    const other = { ...(await hook('http://127.0.0.1:9/other')), deploymentId: rival.id }
    await sql`update webhooks set deployment_id = ${rival.id} where id = ${other.id}`
    await sql`update webhooks set failing_since = now() where id = ${failing.id}`
    for (const { id } of [busy, failing, other]) {
      for (let line = 0; line < 6; line += 1) {
        await sendTestMessage(sql, { webhookId: id, automationId: 'x' })
      }
    }
    const two = await takeLines(sql, { limit: 2, leaseSeconds: 60 })
    expect(two.filter(({ webhookId }) => webhookId === other.id)).toHaveLength(1)
    const rest = await takeLines(sql, { limit: 99, leaseSeconds: 60 })
    const all = [...two, ...rest]
    const linesOf = ({ id }: Webhook) => all.filter(({ webhookId }) => webhookId === id).length
    expect([linesOf(busy), linesOf(failing), linesOf(other)]).toEqual([4, 1, 4])
    expect(new Set(all.map(({ executionId }) => executionId)).size).toBe(9)
    await sql`
      update webhook_lines set due_at = now() - interval '1 second'
      where lease_id is not null`
    const again = await takeLines(sql, { limit: 99, leaseSeconds: 60 })
    expect(again).toHaveLength(9)
  })

  it('stores what became of a try once, though its sender stores it again', async () => {
    const { sql } = platform
    const webhook = await hook('http://127.0.0.1:9')
    const run = await begin()
    await tell(run, 'first', 0)
    await tell(run, 'second', 1)
    const take = async () => {
      const [line] = await takeLines(sql, { limit: 1, leaseSeconds: 60 })
      const head = line && (await takeHead(sql, line, 60))
      if (!line || !head) throw new Error('nothing is due')
      return { line, head }
    }
    const refused = await take()
    const problem = 'It answered HTTP 500.'
    const no = { attempt: { status: 500, problem, durationMs: 1 }, pausedFor: undefined }
    const refuse = () =>
      settleRefused(sql, refused.line, { head: refused.head, ...no, retrySeconds: [0] })
    await refuse()
    await refuse()
    const waiting = { type: 'first', state: 'waiting', attempts: 1 }
    expect((await deliveries(webhook)).at(-1)).toMatchObject(waiting)
    const { line, head } = await take()
    expect(head).toMatchObject({ id: refused.head.id, tries: 1 })
    // Another sender has the line now.
    await refuse()
    expect(await takeHead(sql, refused.line, 60)).toBeUndefined()
    const attempt = { status: 204, problem: null, durationMs: 1 }
    const accepted = () => settleAccepted(sql, line, { id: head.id, attempt })
    expect([await accepted(), await accepted()]).toEqual([true, true])
    expect(await deliveries(webhook)).toMatchObject([
      { type: 'second', state: 'waiting', attempts: 0 },
      { type: 'first', state: 'delivered', attempts: 2 },
    ])
  })

  it('forgets what was delivered after a week, and the rest after a month', async () => {
    const { sql } = platform
    const webhook = await hook('http://127.0.0.1:9')
    const states = [
      ['delivered', 8],
      ['delivered', 6],
      ['failed', 29],
      ['failed', 31],
      ['waiting', 29],
      ['waiting', 31],
    ] as const
    for (const [state, days] of states) {
      await sql`
        insert into webhook_messages
          (webhook_id, execution_id, type, payload, state, created_at, ended_at)
        select ${webhook.id}, gen_random_uuid(), ${`${state} ${days}`}, '{}', ${state}, moment,
          case when ${state} <> 'waiting' then moment end
        from (select now() - make_interval(days => ${days}) as moment) at`
    }
    expect(await deleteExpiredMessages(sql)).toBe(3)
    expect(await deleteExpiredMessages(sql)).toBe(0)
    const left = (await deliveries(webhook)).map(({ type }) => type).toSorted()
    expect(left).toEqual(['delivered 6', 'failed 29', 'waiting 29'])
  })

  it('loses no event of a run whose webhook is deleted at the same time', async () => {
    const { sql } = platform
    const run = await begin()
    const webhook = await hook('http://127.0.0.1:9')
    const events = Array.from({ length: 20 }, (_, position) => tell(run, 'step', position))
    await Promise.all([...events, deleteWebhook(sql, webhook)])
    const [row] = await sql<[{ count: number }]>`
      select count(*)::int as count from execution_events where execution_id = ${run.id}`
    expect(row.count).toBe(20)
  })
})
