import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import * as v from 'valibot'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { readEnv } from '../../../../services/shared/env.ts'
import {
  createForwardProxy,
  proxyEnv,
  proxyVariables,
} from '../../../../services/shared/outgoing/forward-proxy.ts'
import { createOutgoingGuard } from '../../../../services/shared/outgoing/guard.ts'
import type { ResolveName } from '../../../../services/shared/outgoing/resolve-name.ts'
import { sendRequest } from '../../../../services/shared/outgoing/send-request.ts'
import { createMutualTls } from '../../../../services/tasks/certificates.ts'
import { startForwardProxy } from '../../../support/forward-proxy.ts'
import type { TestProxy } from '../../../support/forward-proxy.ts'
import { startHttpServer } from '../../../support/http-server.ts'

const signal = AbortSignal.timeout(50_000)
const LOGIN = 'platform:s3cret/&'
let plain: Awaited<ReturnType<typeof startHttpServer>>
let secure: Server
let proxy: TestProxy
let directory: string
let authority: string

beforeAll(async () => {
  plain = await startHttpServer((request, response) => void response.end(request.headers.host))
  const tls = createMutualTls(['models.example'])
  const { certificate: cert, key } = tls.server
  secure = createServer({ cert, key }, (request, response) => {
    request.resume().on('end', () => response.end(JSON.stringify({ path: request.url })))
  })
  secure.listen(0, '127.0.0.1')
  await once(secure, 'listening')
  directory = await mkdtemp(join(tmpdir(), 'proxy-test-'))
  authority = join(directory, 'ca.pem')
  await writeFile(authority, tls.authority)
  proxy = await startForwardProxy({
    names: {
      'plain.example': Number(new URL(plain.url).port),
      'models.example': (secure.address() as AddressInfo).port,
    },
    login: LOGIN,
  })
})
beforeEach(() => void (proxy.passed.length = 0))
afterAll(async () => {
  secure.close()
  await Promise.all([plain.stop(), proxy.stop(), rm(directory, { recursive: true })])
})

const readProxies = (source: Readonly<Record<string, string>>) =>
  readEnv(v.object(proxyEnv), source)
const withLogin = (): string => {
  const [user = '', password = ''] = LOGIN.split(':').map(encodeURIComponent)
  return proxy.url.replace('//', `//${user}:${password}@`)
}

describe('the variables of a proxy', () => {
  const NO_PROXY =
    'demo-web, .svc,*.corp.example,litellm.models:4000,10.0.0.0/8,fd00::/8,192.0.2.7,[2001:db8::1]'
  const rules = createForwardProxy(
    readProxies({ HTTP_PROXY: 'http://p.corp:3128', HTTPS_PROXY: 'p.corp:3129', NO_PROXY }),
  )

  it.each([
    ['https://api.example/v1', 'http://p.corp:3129'],
    ['http://api.example/v1', 'http://p.corp:3128'],
    ['https://notcorp.example', 'http://p.corp:3129'],
    ['http://litellm.models:4001', 'http://p.corp:3128'],
    ['https://11.0.0.1', 'http://p.corp:3129'],
  ])('lead %s to %s', (address, expected) => {
    expect(rules.proxyFor(new URL(address))?.url.origin).toBe(expected)
  })

  it.each([
    'http://demo-web:80',
    'http://demo-web.demo-web',
    'http://x.platform.svc',
    'https://git.corp.example',
    'https://CORP.example.',
    'http://litellm.models:4000',
    'https://10.9.8.7',
    'https://[fd00::1]',
    'https://192.0.2.7',
    'https://[2001:db8::1]',
    'http://localhost:1',
    'http://127.0.0.9',
    'http://[::1]:80',
  ])('leave %s alone', (address) => {
    expect(rules.proxyFor(new URL(address))).toBeUndefined()
  })

  it('exempt everything with *, and nothing by themselves', () => {
    const all = createForwardProxy(readProxies({ HTTP_PROXY: 'http://p', NO_PROXY: '*' }))
    expect(all.proxyFor(new URL('http://api.example'))).toBeUndefined()
    expect(createForwardProxy({}).proxyFor(new URL('http://api.example'))).toBeUndefined()
    expect(proxyVariables(readProxies({ NO_PROXY }))).toEqual({})
  })

  it('go on to programs of others in both spellings', () => {
    const given = { HTTPS_PROXY: 'http://u:p@p.corp:3128/', NO_PROXY: '.svc' }
    expect(proxyVariables(readProxies(given))).toEqual({
      ...given,
      https_proxy: given.HTTPS_PROXY,
      no_proxy: '.svc',
    })
  })

  it('are refused without being shown when they are no address', () => {
    const start = () => readProxies({ HTTPS_PROXY: 'socks5://u:canary@p' })
    expect(start).toThrow('HTTPS_PROXY must be the address of a proxy, such as http://proxy.corp')
    expect(start).not.toThrow('canary')
  })
})

describe('a call through a proxy', () => {
  const guardWith = (resolveName: ResolveName, NO_PROXY = '') =>
    createOutgoingGuard({
      privateOrigins: ['http://listed.example'],
      setting: 'A_SETTING',
      resolveName,
      proxy: createForwardProxy(
        readProxies({ HTTP_PROXY: withLogin(), HTTPS_PROXY: withLogin(), NO_PROXY }),
      ),
    })
  const found =
    (...addresses: string[]): ResolveName =>
    async () =>
      addresses.map((address) => ({ address, family: 4 }))
  const routeOf = (guard: ReturnType<typeof guardWith>, address: string) =>
    guard.pin(new URL(address), { subject: 'organization 1', signal })

  it.each([
    ['a public name', found('1.1.1.1')],
    ['a name that only the proxy knows', found()],
    [
      'a name that the name servers refuse',
      async () => {
        throw Object.assign(new Error('no'), { code: 'ESERVFAIL' })
      },
    ],
  ])('of an organization leads to %s with the proxy, which has its name', async (_, resolve) => {
    const url = new URL('http://plain.example/v1?a=b')
    const route = await routeOf(guardWith(resolve), url.href)
    const { body } = await sendRequest({
      url,
      headers: {},
      signal,
      responseBytesMax: 100,
      route,
    })
    expect(body.toString()).toBe('plain.example')
    expect(proxy.passed).toEqual(['GET http://plain.example/v1?a=b'])
  })

  it('is refused all the same when the name leads inside, and never asks the proxy', async () => {
    for (const address of ['http://inside.example', 'https://10.0.0.1', 'https://127.0.0.1']) {
      await expect(routeOf(guardWith(found('10.0.0.1')), address)).rejects.toMatchObject({
        details: { problem: 'private_address' },
      })
    }
    expect(await routeOf(guardWith(found('10.0.0.1')), 'http://listed.example')).toHaveProperty(
      'lookup',
    )
    expect(
      await routeOf(guardWith(found('1.1.1.1'), '.example'), 'https://x.example'),
    ).toHaveProperty('lookup')
    expect(proxy.passed).toEqual([])
  })

  it('says which proxy is in the way when it does not pass the call on', async () => {
    const gone = createForwardProxy(readProxies({ HTTPS_PROXY: 'http://127.0.0.1:1' }))
    const stranger = createForwardProxy(readProxies({ HTTPS_PROXY: proxy.url }))
    const send = (proxies: typeof gone, url: URL) => {
      const found = proxies.proxyFor(url)
      const route = found && { proxy: found }
      return sendRequest({ url, headers: {}, signal, responseBytesMax: 100, route })
    }
    const url = new URL('https://models.example/v1')
    await expect(send(gone, url)).rejects.toThrow(
      'The proxy 127.0.0.1:1 cannot be reached (ECONNREFUSED). Check HTTPS_PROXY and NO_PROXY',
    )
    await expect(send(stranger, url)).rejects.toThrow(
      'refuses to connect to models.example:443 with HTTP 407',
    )
  })
})

describe('a program behind a proxy', () => {
  const INSIDE = { inside: true }

  it('sends what leaves the cluster through it, and nothing else', async () => {
    const program = new URL('./proxied-calls.ts', import.meta.url).pathname
    const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', program], {
      env: {
        PATH: process.env['PATH'],
        HTTP_PROXY: withLogin(),
        HTTPS_PROXY: withLogin(),
        NODE_EXTRA_CA_CERTS: authority,
      },
    })
    expect(JSON.parse(stdout)).toEqual({
      'address of an organization': '{"path":"/guarded"}',
      'provider of the operator': '{"path":"/provider"}',
      'model of the operator': expect.stringContaining('answered with'),
      'key set': '{"path":"/keys"}',
      'probe of the report': 200,
      'object store': [],
      'OAuth service': INSIDE,
      'Kubernetes API': { object: INSIDE },
      collector: INSIDE,
      crew: INSIDE,
    })
    expect(proxy.passed).toEqual(Array.from({ length: 6 }, () => 'CONNECT models.example:443'))
  })
})
