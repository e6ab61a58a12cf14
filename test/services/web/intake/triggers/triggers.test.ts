import { randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  pauseTrigger,
  endFormerSecret,
} from '../../../../../services/platform/triggers/triggers.ts'
import type { TriggerFields } from '../../../../../services/platform/triggers/triggers.ts'
import { few, isLong } from '../../../../support/long.ts'
import { openPlatform, readObject } from '../../support/platform.ts'
import type { Platform } from '../../support/platform.ts'
import {
  githubHeaders,
  makeTrigger,
  postTo,
  rotate,
  slackHeaders,
  standardHeaders,
  stripeHeaders,
} from './senders.ts'
import type { Delivery, OpenTrigger } from './senders.ts'

let platform: Platform

beforeAll(async () => {
  platform = await openPlatform()
})
beforeEach(async () => {
  await platform.sql`delete from triggers`
  await platform.sql`delete from executions`
})
afterAll(() => platform.close())

const make = (fields: Partial<TriggerFields> = {}) => makeTrigger(platform, fields)
const runs = () => platform.sql`
  select id, inputs, trigger, starter_id, starter_name from executions order by queued_at`
const deliveries = () => platform.sql`
  select delivery_id, state, problem, run_id, headers, payload from trigger_deliveries order by id`

type Answer = Readonly<Record<string, unknown>>

/** Delivers with a good signature of Standard Webhooks, unless the headers are other ones. */
async function deliver(
  { trigger, secret }: OpenTrigger,
  delivery: Delivery = {},
  to: Pick<Platform, 'app'> = platform,
): Promise<Answer> {
  const { body: given = { topic: 'tides' } } = delivery
  const body = typeof given === 'string' ? given : JSON.stringify(given)
  const headers = standardHeaders(secret, body, delivery)
  const response = await postTo(to, trigger.id, { headers, body })
  return { code: response.status, ...(await readObject(response)) }
}

describe('a delivery that is signed', () => {
  it('starts a run with the inputs that the trigger makes of it', async () => {
    const open = await make()
    const answer = await deliver(open, { id: 'msg_1', headers: { cookie: 'x', 'x-of': 'crm' } })
    const [run] = await runs()
    expect(answer).toMatchObject({ code: 202, kickoff_id: run?.['id'], repeated: false })
    expect(run).toMatchObject({
      inputs: { topic: 'tides' },
      trigger: 'event',
      starterId: `trigger:${open.trigger.id}`,
      starterName: 'Events',
    })
    const [delivery] = await deliveries()
    expect(delivery).toMatchObject({ deliveryId: 'msg_1', state: 'started', runId: run?.['id'] })
    expect(delivery?.['payload']).toEqual({ topic: 'tides' })
    expect(delivery?.['headers']).toMatchObject({ 'x-of': 'crm' })
    expect(Object.keys(delivery?.['headers'] ?? {})).not.toContain('webhook-signature')
    expect(Object.keys(delivery?.['headers'] ?? {})).not.toContain('cookie')
  })

  it('starts one run, however often its id is sent', async () => {
    const open = await make()
    const first = await deliver(open, { id: 'msg_1' })
    const again = await Promise.all(few([1, 2, 3, 4], 4).map(() => deliver(open, { id: 'msg_1' })))
    for (const each of again) {
      expect(each).toMatchObject({ kickoff_id: first['kickoff_id'], repeated: true })
    }
    expect(await runs()).toHaveLength(1)
  })

  it('is skipped by the filter, and says so', async () => {
    const open = await make({ filter: "@.body.type == 'paid'" })
    expect(await deliver(open)).toMatchObject({ status: 'skipped', kickoff_id: null })
    expect(await deliver(open, { body: { type: 'paid', topic: 'x' } })).toMatchObject({
      status: 'started',
    })
    expect((await deliveries()).map(({ state }) => state)).toEqual(['skipped', 'started'])
  })

  it('is skipped while the trigger is paused', async () => {
    const open = await make()
    await pauseTrigger(platform.sql, open.trigger.id)
    expect(await deliver(open)).toMatchObject({ reason: 'The trigger is paused.' })
    expect(await runs()).toEqual([])
  })

  it('says what is wrong with the inputs, and is tried again when it is sent again', async () => {
    const open = await make()
    const body = { other: 1 }
    const failed = await deliver(open, { id: 'msg_1', body })
    expect(failed).toMatchObject({ code: 422, message: expect.stringContaining('topic') })
    expect(await deliveries()).toMatchObject([{ state: 'failed', runId: null }])
    expect(await deliver(open, { id: 'msg_1' })).toMatchObject({ status: 'started' })
    expect(await deliveries()).toMatchObject([{ state: 'started', problem: null }])
  })

  it('starts nothing while the automation is stopped, or its queue is full', async () => {
    const open = await make()
    const { sql, acme } = platform
    await sql`update deployments set halted_at = now() where id = ${acme.research.id}`
    expect(await deliver(open, { id: 'msg_1' })).toMatchObject({ code: 409 })
    await sql`update deployments set halted_at = null where id = ${acme.research.id}`
    const app = platform.appAt('http://platform.test', { QUEUED_RUNS_MAX: '1' })
    await deliver(open)
    const body = '{"topic":"x"}'
    const call = { headers: standardHeaders(open.secret, body, { id: 'msg_1' }), body }
    const full = await postTo({ app }, open.trigger.id, call)
    expect(await readObject(full)).toMatchObject({ status: 429, error: 'queue_full' })
    expect(await deliver(open, { id: 'msg_1' })).toMatchObject({ status: 'started' })
  })

  it('is over the limit of calls like that of a token', async () => {
    const app = platform.appAt('http://platform.test', { TOKEN_CALLS_PER_MINUTE: '3' })
    const open = await make()
    const answers: Response[] = []
    for (let at = 0; at < 4; at += 1) {
      const headers = standardHeaders(open.secret, '{"topic":"x"}')
      const call = { headers, body: '{"topic":"x"}' }
      answers.push(await postTo({ app }, open.trigger.id, call))
    }
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202, 429])
    expect(await answers.at(-1)?.text()).toContain('There were 3 calls with this trigger')
  })

  it('of a filter that never ends pauses the trigger, and says why', async () => {
    const open = await make({ filter: "match(@.body.topic, '(a|a)*b')" })
    const topic = `${'a'.repeat(40)}!`
    expect(await deliver(open, { body: { topic } })).toMatchObject({ code: 504 })
    expect(await deliver(open)).toMatchObject({ reason: expect.stringContaining('500 ms') })
  })
})

describe('what is not signed', () => {
  /** The whole answer, without what is of one call. */
  async function answerTo(id: string, headers: Record<string, string>, body = '{"topic":"x"}') {
    const response = await postTo(platform, id, { headers, body })
    const { request_id: _, ...told } = await readObject(response)
    const names = [...response.headers].filter(([name]) => name !== 'x-request-id')
    return { status: response.status, told, names }
  }

  it('has the one answer, whether there is a trigger or not, and leaves nothing', async () => {
    const open = await make()
    const paused = await make()
    await pauseTrigger(platform.sql, paused.trigger.id)
    const none = await make()
    await platform.sql`update triggers set sealed_key = null where id = ${none.trigger.id}`
    const body = '{"topic":"x"}'
    const good = standardHeaders(open.secret, body)
    const expected = await answerTo(randomUUID(), good)
    expect(expected).toMatchObject({ status: 404, told: { error: 'not_found' } })
    const foreign = standardHeaders(paused.secret, body)
    const refused: [string, Record<string, string>, string?][] = [
      ['no-uuid', good],
      [open.trigger.id, {}],
      [open.trigger.id, foreign],
      [open.trigger.id, good, '{"topic":"y"}'],
      [open.trigger.id, { ...good, 'webhook-id': 'other' }],
      [open.trigger.id, { ...good, 'webhook-signature': `${good['webhook-signature']}x, x` }],
      [open.trigger.id, { ...good, 'webhook-timestamp': '1e9' }],
      [paused.trigger.id, good],
      [none.trigger.id, standardHeaders(none.secret, body)],
    ]
    for (const [id, headers, other] of refused) {
      expect(await answerTo(id, headers, other)).toEqual(expected)
    }
    expect(await runs()).toEqual([])
    expect(await deliveries()).toEqual([])
  })

  it('is slowed down, while what is signed passes', async () => {
    const platformApp = { app: platform.appAt('http://platform.test') }
    const open = await make()
    const call = { headers: {}, body: '{}' }
    const statuses = new Set<number>()
    for (let at = 0; at < 100; at += 1) {
      statuses.add((await postTo(platformApp, open.trigger.id, call)).status)
    }
    expect([...statuses]).toEqual([404, 429])
    const body = '{"topic":"x"}'
    const headers = standardHeaders(open.secret, body)
    expect((await postTo(platformApp, open.trigger.id, { headers, body })).status).toBe(202)
  })

  it('is refused by each scheme, even with a good signature of another one', async () => {
    const body = '{"topic":"x","id":"evt_1"}'
    for (const scheme of ['github', 'gitlab', 'stripe', 'slack', 'hmac', 'token'] as const) {
      const { trigger, secret } = await make({ scheme })
      const headers = standardHeaders(secret, body)
      expect(await answerTo(trigger.id, headers, body), scheme).toMatchObject({ status: 404 })
    }
  })
})

describe('a secret that is replaced', () => {
  it('is good beside the new one until its time is over, or it is ended', async () => {
    const former = await make()
    const present = await rotate(platform, former)
    expect(await deliver(former)).toMatchObject({ status: 'started' })
    expect(await deliver(present)).toMatchObject({ status: 'started' })
    await platform.sql`update triggers set previous_key_until = now() - interval '1 second'`
    expect(await deliver(former)).toMatchObject({ code: 404 })
    expect(await deliver(present)).toMatchObject({ status: 'started' })
    const next = await rotate(platform, present)
    expect(await deliver(present)).toMatchObject({ status: 'started' })
    await endFormerSecret(platform.sql, next.trigger)
    expect(await deliver(present)).toMatchObject({ code: 404 })
    expect(await deliver(next)).toMatchObject({ status: 'started' })
  })
})

describe('a clock', () => {
  const minutes = (count: number) => new Date(Date.now() + count * 60_000)

  it.each([-10, 10])('that is %i minutes off is refused in words, and listed', async (off) => {
    const open = await make()
    const answer = await deliver(open, { id: 'msg_1', at: minutes(off) })
    expect(answer).toMatchObject({ code: 400, message: expect.stringContaining('seconds') })
    expect(await deliveries()).toMatchObject([{ state: 'failed', deliveryId: 'msg_1' }])
    expect(await deliver(open, { id: 'msg_1' })).toMatchObject({ status: 'started' })
  })

  it.each([-4, 4])('that is %i minutes off is taken', async (off) => {
    expect(await deliver(await make(), { at: minutes(off) })).toMatchObject({ status: 'started' })
  })

  it('does not let an old delivery start a second run', async () => {
    const open = await make()
    const first = await deliver(open, { id: 'msg_1' })
    const replayed = await deliver(open, { id: 'msg_1', at: minutes(-60) })
    expect(replayed).toMatchObject({ kickoff_id: first['kickoff_id'], repeated: true })
  })
})

describe('the senders', () => {
  const send = async (id: string, headers: Record<string, string>, body: string) => {
    const response = await postTo(platform, id, { headers, body })
    return { code: response.status, ...(await readObject(response)) }
  }

  it('GitHub starts a run with a push as JSON or as a form, not with a ping', async () => {
    const inputs = { topic: '{{ $.body.ref }}' }
    const filter = "@.headers['x-github-event'] == 'push'"
    const { trigger, secret } = await make({ scheme: 'github', inputs, filter })
    const push = JSON.stringify({ ref: 'refs/heads/main' })
    expect(await send(trigger.id, await githubHeaders(secret, push), push)).toMatchObject({
      code: 202,
    })
    const form = new URLSearchParams({ payload: push }).toString()
    const asForm = {
      ...(await githubHeaders(secret, form)),
      'content-type': 'application/x-www-form-urlencoded',
    }
    expect(await send(trigger.id, asForm, form)).toMatchObject({ code: 202 })
    const ping = '{"zen":"Keep it logically awesome."}'
    const headers = await githubHeaders(secret, ping, 'ping')
    expect(await send(trigger.id, headers, ping)).toEqual({ code: 200, pong: true })
    expect((await runs()).map(({ inputs: given }) => given)).toEqual([
      { topic: 'refs/heads/main' },
      { topic: 'refs/heads/main' },
    ])
  })

  it('Stripe starts one run for an event, however often it is signed anew', async () => {
    const inputs = { topic: 'Order {{ $.body.data.object.id }}' }
    const { trigger, secret } = await make({ scheme: 'stripe', inputs })
    const body = JSON.stringify({ id: 'evt_1', data: { object: { id: 'cs_1' } } })
    const at = Math.floor(Date.now() / 1000)
    for (const seconds of [0, 60, 120]) {
      await send(trigger.id, stripeHeaders(secret, body, at - seconds), body)
    }
    expect(await runs()).toMatchObject([{ inputs: { topic: 'Order cs_1' } }])
    expect(await deliveries()).toMatchObject([{ deliveryId: 'evt_1' }])
  })

  it('Slack has its challenge answered, and starts runs with events and commands', async () => {
    const inputs = { topic: '{{ $.body.text }}{{ $.body.event.text }}' }
    const { trigger, secret } = await make({ scheme: 'slack', inputs })
    const challenge = JSON.stringify({ type: 'url_verification', challenge: 'c-1' })
    const answer = await send(trigger.id, slackHeaders(secret, challenge), challenge)
    expect(answer).toEqual({ code: 200, challenge: 'c-1' })
    expect(await deliveries()).toEqual([])
    const event = JSON.stringify({ event_id: 'Ev1', event: { text: 'tides' } })
    expect(await send(trigger.id, slackHeaders(secret, event), event)).toMatchObject({
      delivery_id: 'Ev1',
      status: 'started',
    })
    const command = 'command=%2Frun&text=moons&trigger_id=1.2.3'
    const type = 'application/x-www-form-urlencoded'
    await send(trigger.id, slackHeaders(secret, command, type), command)
    expect((await runs()).map(({ inputs: given }) => given)).toEqual([
      { topic: 'tides' },
      { topic: 'moons' },
    ])
  })

  it('GitLab and others prove themselves with a token, which is kept nowhere', async () => {
    const type = { 'content-type': 'application/json', 'idempotency-key': 'k-1' }
    const gitlab = await make({ scheme: 'gitlab' })
    const other = await make({ scheme: 'token' })
    const named = await make({ scheme: 'token', header: 'x-shop-key' })
    const body = '{"topic":"x"}'
    const calls = [
      [gitlab, { 'x-gitlab-token': gitlab.secret }],
      [other, { authorization: `Bearer ${other.secret}` }],
      [named, { 'x-shop-key': named.secret }],
    ] as const
    for (const [{ trigger }, headers] of calls) {
      expect(await send(trigger.id, { ...type, ...headers }, body)).toMatchObject({
        delivery_id: 'k-1',
        status: 'started',
      })
    }
    const kept = JSON.stringify([await deliveries(), platform.lines])
    for (const { secret } of [gitlab, other, named]) expect(kept).not.toContain(secret)
  })

  it('may name the id of a delivery by a path', async () => {
    const open = await make({ deliveryPath: '$.body.order' })
    for (const order of [7, 7, 8]) await deliver(open, { body: { topic: 'x', order } })
    expect((await deliveries()).map(({ deliveryId }) => deliveryId)).toEqual(['7', '8'])
  })
})

describe('a hostile body', () => {
  const wrong: [what: string, body: string, headers: Record<string, string>, code: number][] = [
    ['text', 'topic', { 'content-type': 'text/plain' }, 415],
    ['XML', '<topic/>', { 'content-type': 'application/xml' }, 415],
    ['no type', '{}', { 'content-type': '' }, 415],
    ['a form with files', '--x--', { 'content-type': 'multipart/form-data; boundary=x' }, 415],
    ['what is compressed', '{}', { 'content-encoding': 'gzip' }, 415],
    ['no JSON', '{"topic":', {}, 400],
    ['a member twice', '{"topic":"a","topic":"b"}', {}, 400],
    ['U+0000', '{"topic":"a\\u0000"}', {}, 400],
    ['too deep', `${'['.repeat(40)}${']'.repeat(40)}`, {}, 400],
    ['no body', '', {}, 400],
    ['no object', '7', {}, 422],
    ['null', 'null', {}, 422],
  ]
  it.each(wrong)('%s is refused in words, and starts nothing', async (...given) => {
    const [, body, headers, code] = given
    const answer = await deliver(await make(), { body, headers })
    expect(answer).toMatchObject({ code, message: expect.any(String) })
    expect(await runs()).toEqual([])
    expect(await deliveries()).toMatchObject([{ state: 'failed', problem: answer['message'] }])
  })

  it('of 20 MiB is refused before it is read, whoever sends it', async () => {
    const { trigger } = await make()
    for (const id of [trigger.id, randomUUID()]) {
      const body = 'x'.repeat(20 * 1024 * 1024)
      const headers = { 'content-length': String(body.length) }
      const response = await postTo(platform, id, { headers, body })
      expect(response.status).toBe(413)
      expect(await readObject(response)).toMatchObject({ details: { max_bytes: 1_048_576 } })
    }
  })

  it('of compressed bytes is no way around the bound', async () => {
    const body = gzipSync('x'.repeat(1000)).toString('latin1')
    const answer = await deliver(await make(), { body, headers: { 'content-encoding': 'gzip' } })
    expect(answer).toMatchObject({ code: 415 })
  })

  it('with ids of any length and kind is one delivery each', async () => {
    const open = await make({ deliveryPath: '$.body.id' })
    const ids = ['x'.repeat(5000), 'x'.repeat(5001), 7, '', null, { a: 1 }, ["'; --"], '../..']
    for (const id of ids) {
      expect(await deliver(open, { body: { topic: 'x', id } })).toMatchObject({ status: 'started' })
    }
    expect(await deliveries()).toHaveLength(ids.length)
  })
})

/** Makes statements, and commits, of deliveries and their runs fail by chance, as a kill does. */
async function breakAtTimes(): Promise<void> {
  const { sql } = platform
  await sql`
    create function break_at_times() returns trigger language plpgsql as $$
    begin
      if random() < 0.1 then raise exception 'broken on purpose'; end if;
      return new;
    end $$`
  await sql`
    create trigger breaks before insert or update on trigger_deliveries
    for each row execute function break_at_times()`
  for (const table of ['trigger_deliveries', 'executions']) {
    await sql`
      create constraint trigger breaks_at_commit after insert on ${sql(table)}
      deferrable initially deferred for each row execute function break_at_times()`
  }
}

describe('deliveries', () => {
  it('start one run an id, in any order, however often, whatever breaks meanwhile', async () => {
    const { sql } = platform
    const open = await make()
    await breakAtTimes()
    const limits = ['TOKEN_CALLS_PER_MINUTE', 'ORGANIZATION_CALLS_PER_MINUTE', 'QUEUED_RUNS_MAX']
    const none = Object.fromEntries(limits.map((name) => [name, '0']))
    const to = { app: platform.appAt('http://platform.test', none) }
    const count = isLong ? 3334 : 30
    const ids = Array.from({ length: count * 3 }, (_, at) => `msg_${at % count}`)
    const everyId = fc.shuffledSubarray(ids, { minLength: ids.length })
    await fc.assert(
      fc.asyncProperty(everyId, async (waiting) => {
        await sql`delete from trigger_deliveries`
        await sql`delete from executions`
        const sender = async () => {
          for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
            const { kickoff_id: started } = await deliver(open, { id }, to)
            // A sender that has no answer sends again, behind the others.
            if (typeof started !== 'string') waiting.unshift(id)
          }
        }
        await Promise.all(Array.from({ length: 8 }, sender))
        const [found] = await sql`
          select count(*)::int as deliveries, count(distinct run_id)::int as runs,
            (select count(*)::int from executions) as started
          from trigger_deliveries where state = 'started'`
        expect(found).toEqual({ deliveries: count, runs: count, started: count })
      }),
      { numRuns: isLong ? 1 : 2 },
    )
  })
})
