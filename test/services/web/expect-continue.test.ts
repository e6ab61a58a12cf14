import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLog } from '../../../services/shared/log.ts'
import type { Service } from '../../../services/shared/http/serve.ts'
import { start } from '../../../services/web/start.ts'
import { seedOwnAutomation } from '../../support/own-crew.ts'
import { exchange, requestLines, statusOf } from '../../support/raw-http.ts'
import { tarGz } from '../../support/tar.ts'
import { BASE_URL, environment, openPlatform } from './support/platform.ts'
import type { Platform, SignedInUser } from './support/platform.ts'
import { makeWheel, uploadForm } from './support/wheels.ts'

const JSON_BODY = { 'content-type': 'application/json' }
/** curl asks before it sends more than 1 MiB. */
const FILLER = randomBytes(1_500_000)
const lines: string[] = []
let platform: Platform
let service: Service
let ada: SignedInUser
let token: string
let ownCrew: string

beforeAll(async () => {
  platform = await openPlatform()
  ada = await platform.signIn(platform.acme)
  token = await platform.issueToken(platform.acme)
  ownCrew = (await seedOwnAutomation(platform.sql, 'Crew', 'acme')).automationId
  const log = createLog({ name: 'web', destination: { write: (line) => void lines.push(line) } })
  service = await start(environment(platform.url), { log, lingerMs: 0 })
})
afterAll(async () => {
  await service.stop()
  await platform.close()
})

const source = () =>
  tarGz([
    { path: 'pyproject.toml', content: '[project]\nname = "crew"\n' },
    { path: 'crew.py', content: '@CrewBase\nclass A: ...\n' },
    { path: 'data.bin', content: FILLER },
  ])

function formOf(name: string, content: Buffer, texts: Record<string, string> = {}) {
  const form = new FormData()
  for (const [key, value] of Object.entries(texts)) form.append(key, value)
  const [field = ''] = name.split('.')
  form.append(field, new Blob([Uint8Array.from(content)]), name)
  return form
}

/** Asks as curl does, and sends the body once the server wants it; returns the status. */
async function upload(path: string, body: FormData | URLSearchParams | string, headers = {}) {
  const encoded = new Request(BASE_URL, { method: 'POST', body })
  const content = Buffer.from(await encoded.arrayBuffer())
  const call = request(new URL(path, service.url), {
    method: 'POST',
    agent: false,
    signal: AbortSignal.timeout(60_000),
    headers: {
      'content-type': encoded.headers.get('content-type') ?? '',
      'content-length': content.length,
      expect: '100-continue',
      ...headers,
    },
  })
  const answered = once(call, 'response')
  const isWanted = once(call, 'continue').then(() => call.end(content))
  await Promise.race([answered, isWanted])
  const [response] = (await answered) as [IncomingMessage]
  call.on('error', () => {})
  response.resume()
  return response.statusCode
}

describe('a body that is sent only when it is asked for', () => {
  const bearer = () => ({ authorization: `Bearer ${token}` })
  const person = () => ({ cookie: ada.cookie, origin: BASE_URL })
  const csrf = () => ({ csrf_token: ada.csrfToken })
  const apiOf = () => `/platform/api/v1/crew/${platform.acme.research.automationId}`
  const kickoff = (size: number) => JSON.stringify({ inputs: { topic: 'x'.repeat(size) } })

  const routes: readonly (readonly [
    name: string,
    status: number,
    send: () => Promise<number | undefined>,
  ])[] = [
    [
      'the source of a deployment',
      201,
      () =>
        upload(
          `/designer/v2/automations/${ownCrew}/deployments`,
          formOf('source.tar.gz', source()),
          bearer(),
        ),
    ],
    [
      'the source of a deployment, from a page',
      303,
      () =>
        upload(
          `/automations/${ownCrew}/deployments`,
          formOf('source.tar.gz', source(), csrf()),
          person(),
        ),
    ],
    [
      'the source of a new automation, from a page',
      303,
      () =>
        upload(
          '/new-automation',
          formOf('source.tar.gz', source(), { ...csrf(), name: 'Another' }),
          person(),
        ),
    ],
    [
      'a file for runs',
      201,
      () =>
        upload(
          `${apiOf()}/files`,
          formOf('file.txt', Buffer.from(FILLER.toString('base64'))),
          bearer(),
        ),
    ],
    [
      'a package of tools',
      200,
      () => {
        const wheel = makeWheel('acme-tool', '1.0')
        const form = uploadForm(wheel)
        form.append('description', FILLER.toString('base64'))
        return upload('/tools/organization/', form, bearer())
      },
    ],
    [
      'a project to import that is no archive',
      400,
      () => upload('/import-project', formOf('project.zip', FILLER, csrf()), person()),
    ],
    [
      'a kickoff',
      202,
      () => upload(`${apiOf()}/kickoff`, kickoff(200_000), { ...bearer(), ...JSON_BODY }),
    ],
    [
      'a kickoff that is too long',
      413,
      () => upload(`${apiOf()}/kickoff`, kickoff(1_500_000), { ...bearer(), ...JSON_BODY }),
    ],
    [
      'a sign-in that is far too long',
      413,
      () => upload('/sign-in', new URLSearchParams({ email: FILLER.toString('base64') })),
    ],
    ['a kickoff of nobody', 401, () => upload(`${apiOf()}/kickoff`, kickoff(200_000), JSON_BODY)],
  ]

  it.each(routes)('is answered: %s', async (_name, status, send) => {
    lines.length = 0
    expect(await send()).toBe(status)
    expect(lines.filter((line) => line.includes(`"status":${status}`))).toHaveLength(1)
  })

  it('is refused with 417 where something else is expected', async () => {
    const head = requestLines('POST /sign-in', 'Content-Length: 1', 'Expect: 200-ok')
    expect(statusOf(await exchange(service.url, head, 'x'))).toBe('417')
  })
})
