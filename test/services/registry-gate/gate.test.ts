import { createServer } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { start } from '../../../services/registry-gate/start.ts'
import type { Service } from '../../../services/shared/http/serve.ts'
import { createLog } from '../../../services/shared/log.ts'
import { registryCredential } from '../../../services/shared/registry-credentials.ts'

const KEY = 'a-key-of-the-registry-with-32-characters-or-more'
const log = createLog({ name: 'registry-gate', level: 'silent' })

interface Seen {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly body: string
  readonly authorization: string | undefined
}

let gate: Service
let seen: Seen[]
/** The registry behind the gate, which tells what arrives. */
const registry = createServer((request, response) => {
  void read(request).then((body) => {
    const { method, url, headers } = request
    seen.push({ method, url, body, authorization: headers.authorization })
    response.writeHead(202, { location: '/v2/org-3/crew-7/blobs/uploads/1' }).end('taken')
  })
})

async function read(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request) text += String(chunk)
  return text
}

beforeAll(async () => {
  registry.listen(0, '127.0.0.1')
  await once(registry, 'listening')
  const { port } = registry.address() as AddressInfo
  const source = { PORT: '0', HOST: '127.0.0.1', REGISTRY_KEY: KEY }
  gate = await start({ ...source, REGISTRY_URL: `http://127.0.0.1:${port}` }, { log })
})

beforeEach(() => {
  seen = []
})

afterAll(async () => {
  await gate.stop()
  registry.closeAllConnections()
  registry.close()
})

function ask(path: string, init: RequestInit & { as?: string } = {}): Promise<Response> {
  const [, id = '', action = ''] = /^(\d+) (pull|push)$/.exec(init.as ?? '') ?? []
  const { username, password } = registryCredential(KEY, Number(id), action as 'pull' | 'push')
  const basic = Buffer.from(`${username}:${password}`).toString('base64')
  const headers: Record<string, string> = init.as ? { authorization: `Basic ${basic}` } : {}
  return fetch(gate.url + path, { ...init, headers })
}

describe('the gate of the registry', () => {
  it('passes an organization on to its repositories, without its credential', async () => {
    const path = '/v2/org-3/crew-7/blobs/uploads/?digest=sha256%3Aab'
    const answer = await ask(path, { method: 'POST', body: 'a layer', as: '3 push' })
    expect(answer.status).toBe(202)
    expect(answer.headers.get('location')).toBe('/v2/org-3/crew-7/blobs/uploads/1')
    expect(await answer.text()).toBe('taken')
    expect(seen).toEqual([{ method: 'POST', url: path, body: 'a layer', authorization: undefined }])
    expect((await ask('/v2/org-3/crew-7/manifests/x', { as: '3 pull' })).status).toBe(202)
    expect((await ask('/v2/', { as: '3 pull' })).status).toBe(202)
  })

  it.each([
    ['nobody', '/v2/', {}, 401],
    ['nobody, to a repository', '/v2/org-3/crew-7/manifests/x', {}, 401],
    ['another organization', '/v2/org-3/crew-7/manifests/x', { as: '4 push' }, 403],
    ['one whose number begins alike', '/v2/org-30/crew-7/manifests/x', { as: '3 push' }, 403],
    ['the list of all', '/v2/_catalog', { as: '3 push' }, 403],
    ['a way around', '/v2/org-3/%2e%2e/org-4/crew/manifests/x', { as: '3 push' }, 403],
    ['a change', '/v2/org-3/crew-7/manifests/x', { as: '3 pull', method: 'DELETE' }, 403],
  ] as const)('refuses %s, and asks nothing of the registry', async (...row) => {
    const [, path, init, status] = row
    const answer = await ask(path, init)
    expect(answer.status).toBe(status)
    expect(answer.headers.get('www-authenticate')).toBe(
      status === 401 ? 'Basic realm="registry"' : null,
    )
    expect(await answer.json()).toMatchObject({ errors: [{ message: expect.any(String) }] })
    expect(seen).toEqual([])
  })

  it('refuses a password that is another one, or of another kind', async () => {
    const { password } = registryCredential(KEY, 3, 'pull')
    for (const credential of [`org-3-push:${password}`, 'org-3-pull:', 'org-3-pull:x', ':']) {
      const authorization = `Basic ${Buffer.from(credential).toString('base64')}`
      const answer = await fetch(`${gate.url}/v2/`, { headers: { authorization } })
      expect(answer.status, credential).toBe(401)
    }
  })

  it('takes no layer over from repositories of others', async () => {
    const uploads = '/v2/org-3/crew-7/blobs/uploads/'
    await ask(`${uploads}?mount=sha256:ab&from=org-4/crew-1`, { method: 'POST', as: '3 push' })
    await ask(`${uploads}?mount=sha256:ab&from=org-3/crew-1`, { method: 'POST', as: '3 push' })
    expect(seen.map(({ url }) => url)).toEqual([
      uploads,
      `${uploads}?mount=sha256%3Aab&from=org-3%2Fcrew-1`,
    ])
  })

  it('lets nobody in without a key, and is ready all the same', async () => {
    const closed = await start({ PORT: '0', HOST: '127.0.0.1', REGISTRY_URL: gate.url }, { log })
    expect((await fetch(`${closed.url}/v2/`)).status).toBe(401)
    expect((await fetch(`${closed.url}/health/ready`)).status).toBe(200)
    await closed.stop()
  })
})
