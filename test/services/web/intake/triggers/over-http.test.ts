import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLog } from '../../../../../services/shared/log.ts'
import type { Service } from '../../../../../services/shared/http/serve.ts'
import { start } from '../../../../../services/web/start.ts'
import { exchange, requestLines, statusOf } from '../../../../support/raw-http.ts'
import { environment, openPlatform } from '../../support/platform.ts'
import type { Platform } from '../../support/platform.ts'
import { makeTrigger, standardHeaders } from './senders.ts'
import type { OpenTrigger } from './senders.ts'

const BODY = '{"topic":"tides"}'
const FORM = 'application/x-www-form-urlencoded'

let platform: Platform
let service: Service
let open: OpenTrigger

beforeAll(async () => {
  platform = await openPlatform()
  const log = createLog({ name: 'web', level: 'silent' })
  service = await start(environment(platform.url), { log, lingerMs: 0 })
  open = await makeTrigger(platform)
})
afterAll(async () => {
  await service.stop()
  await platform.close()
})

/** The lines of the headers of a delivery, with others behind them. */
const linesOf = (headers: Readonly<Record<string, string>>, ...others: string[]): string[] =>
  requestLines(
    `POST /hooks/${open.trigger.id}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    `Content-Length: ${BODY.length}`,
    ...others,
  )

const good = () => standardHeaders(open.secret, BODY)
const runs = async () => (await platform.sql`select from executions`).length

describe('over a socket', () => {
  it('a delivery is answered once its run is committed', async () => {
    const answer = await exchange(service.url, linesOf(good()), BODY)
    const [, id = ''] = /"kickoff_id":"([^"]+)"/.exec(answer) ?? []
    expect(statusOf(answer)).toBe('202')
    expect(await platform.sql`select from executions where id = ${id}`).toHaveLength(1)
  })

  it.each([
    ['a second signature', 'webhook-signature: v1,x', '404'],
    ['a second time', 'webhook-timestamp: 1', '404'],
    ['a second id', 'webhook-id: other', '404'],
    ['a second type', 'content-type: text/plain', '415'],
    ['an overlong header', `x-long: ${'x'.repeat(20_000)}`, '431'],
    ['a header of odd bytes', 'x-odd: \u0001', '400'],
    ['a second length', 'Content-Length: 3', '400'],
    ['the name of a prototype', '__proto__: {"type":"x"}', '202'],
  ])('%s is no way around the signature', async (_, header, status) => {
    const before = await runs()
    const answer = await exchange(service.url, linesOf(good(), header), BODY)
    expect(statusOf(answer)).toBe(status)
    expect(await runs()).toBe(before + Number(status === '202'))
  })

  it.each<[string, Buffer, string, string]>([
    ['UTF-16', Buffer.from('\uFEFF{"topic":"x"}', 'utf16le'), 'application/json', '400'],
    ['a byte order mark', Buffer.from('\uFEFF{"topic":"x"}'), 'application/json', '400'],
    ['Latin-1', Buffer.from('{"topic":"\u00e9"}', 'latin1'), 'application/json', '400'],
    ['half a character', Buffer.from('{"topic":"\u{1f30a}"}').subarray(0, 13), 'text/json', '415'],
    ['a form of odd bytes', Buffer.from([0x25, 0xff, 0x00, 0x3d]), FORM, '400'],
  ])('%s is refused in words, and starts nothing', async (...given) => {
    const [, bytes, type, status] = given
    const before = await runs()
    const { 'webhook-id': id, 'webhook-timestamp': at, ...headers } = good()
    const key = Buffer.from(open.secret.replace('whsec_', ''), 'base64')
    const signature = createHmac('sha256', key).update(`${id}.${at}.`).update(bytes)
    const signed = {
      ...headers,
      'webhook-id': id,
      'webhook-timestamp': at,
      'webhook-signature': `v1,${signature.digest('base64')}`,
      'content-type': type,
    }
    const lines = requestLines(
      `POST /hooks/${open.trigger.id}`,
      ...Object.entries(signed).map(([name, value]) => `${name}: ${value}`),
      `Content-Length: ${bytes.length}`,
    )
    expect(statusOf(await exchange(service.url, lines, bytes))).toBe(status)
    expect(await runs()).toBe(before)
  })

  it('20 MiB are refused in words, announced or not, and not read to their end', async () => {
    const path = `POST /hooks/${open.trigger.id}`
    const announced = requestLines(path, `Content-Length: ${20 * 1024 * 1024}`)
    expect(await exchange(service.url, announced)).toMatch(/^HTTP\/1.1 413 [^]*at most 1048576/)
    const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`
    const chunked = requestLines(path, 'Transfer-Encoding: chunked')
    expect(statusOf(await exchange(service.url, chunked, chunk.repeat(320)))).toBe('413')
  })

  it.each(['GET', 'PUT', 'OPTIONS'])('%s is answered alike for any address', async (method) => {
    const answers = await Promise.all(
      [open.trigger.id, 'none'].map((id) =>
        exchange(service.url, requestLines(`${method} /hooks/${id}`)),
      ),
    )
    expect(answers.map(statusOf)).toEqual(['405', '405'])
  })
})
