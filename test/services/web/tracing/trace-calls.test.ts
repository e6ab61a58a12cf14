import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { kickoff as kickoffRun } from '../../../../services/platform/runs/runs.ts'
import { createLog } from '../../../../services/shared/log.ts'
import { createSpanSender } from '../../../../services/shared/tracing/span-sender.ts'
import type { SpanSender } from '../../../../services/shared/tracing/span-sender.ts'
import { startSpanReceiver } from '../../../support/span-receiver.ts'
import type { ReceivedSpan, SpanReceiver } from '../../../support/span-receiver.ts'
import { BASE_URL, openPlatform, readObject } from '../support/platform.ts'
import type { Platform } from '../support/platform.ts'

const SERVER = 2
const CALLER = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' }
const TRACEPARENT = `00-${CALLER.traceId}-${CALLER.spanId}-01`

let platform: Platform
let token: string
let collector: SpanReceiver
let sender: SpanSender
let app: Platform['app']

beforeAll(async () => {
  platform = await openPlatform()
  token = await platform.issueToken(platform.acme)
})

beforeEach(async () => {
  collector = await startSpanReceiver()
  const log = createLog({ name: 'web', level: 'silent' })
  const secret = 'a-collector-secret-of-at-least-32-characters'
  sender = createSpanSender({
    service: 'web',
    collectorUrl: collector.url,
    secret,
    version: '1',
    log,
  })
  app = platform.appAt(BASE_URL, {}, { spans: sender })
})

afterEach(async () => {
  await sender.stop()
  await collector.stop()
})

afterAll(() => platform.close())

const pathOf = (rest: string): string =>
  `${BASE_URL}/platform/api/v1/crew/${platform.acme.research.automationId}/${rest}`

interface Call {
  readonly method?: string
  readonly body?: string
  readonly headers?: Record<string, string>
}

const call = (rest: string, init: Call = {}) =>
  app.request(pathOf(rest), {
    ...init,
    headers: { authorization: `Bearer ${token}`, ...init.headers },
  })

const kickoff = (headers: Record<string, string> = {}) =>
  call('kickoff', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ inputs: { topic: 'whales' } }),
  })

/** What was sent by the time that the sender has stopped. */
async function sent(): Promise<ReceivedSpan[]> {
  await sender.stop()
  return collector.spans()
}

/** The root span of a run. */
const linkTo = (kickoffId: string) => {
  const traceId = kickoffId.replaceAll('-', '')
  return { traceId, spanId: traceId.slice(16) }
}

describe('the spans of web', () => {
  it('tell each call of the automation API, linked to its run and its caller', async () => {
    const started = await readObject(await kickoff({ traceparent: TRACEPARENT }))
    const id = String(started['kickoff_id'])
    await call(`status/${id}`)
    const [start, status] = await sent()
    expect(start).toMatchObject({
      name: 'POST /platform/api/v1/crew/:automationId/kickoff',
      kind: SERVER,
      parentSpanId: '',
      links: [linkTo(id), CALLER],
      attributes: {
        automation_id: platform.acme.research.automationId,
        organization_id: String(platform.acme.organizationId),
        'http.request.method': 'POST',
        'http.response.status_code': 202,
      },
      resource: {
        'service.name': 'crew-platform-web',
        organization_id: String(platform.acme.organizationId),
      },
    })
    expect(start?.traceId).not.toBe(CALLER.traceId)
    expect(start?.traceId).not.toBe(linkTo(id).traceId)
    expect(status).toMatchObject({
      links: [linkTo(id)],
      attributes: { 'http.response.status_code': 200 },
    })
  })

  it('tell a call that was accepted and then refused', async () => {
    await call('kickoff', { method: 'POST', body: 'no JSON' })
    const [span] = await sent()
    expect(span).toMatchObject({
      links: [],
      status: { code: 0 },
      attributes: { 'http.response.status_code': 415 },
    })
  })

  it.each([
    ['cut', '00-0af7651916cd43dd'],
    ['of zeros', `00-${'0'.repeat(32)}-${'0'.repeat(16)}-01`],
    ['of a version that is none', `ff-${CALLER.traceId}-${CALLER.spanId}-01`],
    ['with a script', '<script>alert(1)</script>'],
  ])('ignore a traceparent that is %s', async (_, traceparent) => {
    await call('inputs', { headers: { traceparent } })
    const [span] = await sent()
    expect(span?.links).toEqual([])
  })

  it('are not made of refused tokens, of pages, or of the health of the pod', async () => {
    await call('inputs', { headers: { authorization: 'Bearer pat_unknown' } })
    await app.request(`${BASE_URL}/health`)
    await app.request(`${BASE_URL}/sign-in`)
    expect(await sent()).toEqual([])
  })

  it('tell what people start and stop in the console', async () => {
    const { acme } = platform
    const { cookie, csrfToken } = await platform.signIn(acme)
    const post = (path: string, form: Record<string, string>) =>
      app.request(`${BASE_URL}/automations/${acme.research.automationId}/executions${path}`, {
        method: 'POST',
        headers: {
          cookie,
          origin: BASE_URL,
          'content-type': 'application/x-www-form-urlencoded',
        },
        body: new URLSearchParams({ csrf_token: csrfToken, ...form }).toString(),
      })
    const started = await post('', { topic: 'whales', 'input.topic': 'whales' })
    expect(started.status).toBe(303)
    const id = await kickoffRun(platform.sql, {
      deploymentId: acme.research.id,
      inputs: { topic: 'x' },
    })
    await post(`/${id}/stop`, {})
    const [start, stop] = await sent()
    expect(start).toMatchObject({
      name: 'POST /automations/:automationId/executions',
      attributes: {
        automation_id: acme.research.automationId,
        organization_id: String(acme.organizationId),
        'http.response.status_code': 303,
      },
    })
    expect(start?.links).toHaveLength(1)
    expect(stop).toMatchObject({ links: [linkTo(id)] })
  })
})
