import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { KubernetesAddress } from '../../services/shared/kubernetes.ts'

export interface RecordedCall {
  readonly method: string
  readonly path: string
  readonly authorization: string | undefined
  readonly contentType: string | undefined
}

export interface KubernetesStub {
  readonly address: KubernetesAddress
  readonly calls: RecordedCall[]
  /** Objects by path; each write raises `metadata.resourceVersion`, as the API server does. */
  readonly objects: Map<string, StoredObject>
  /** Runs before each answer; may answer itself. */
  intercept: (call: RecordedCall, response: ServerResponse) => boolean
  setToken(token: string): Promise<void>
  stop(): Promise<void>
}

export type StoredObject = Record<string, unknown> & { metadata: Record<string, unknown> }

/** The answer of a real API server to a call without the right. */
export function forbidden(
  response: ServerResponse,
  what: { verb: string; resource: string },
): true {
  const message = `${what.resource} is forbidden: User "system:serviceaccount:default:bootstrap" cannot ${what.verb} resource "${what.resource}" in API group "" in the namespace "default"`
  return answer(response, 403, status(403, 'Forbidden', message))
}

function status(code: number, reason: string, message: string) {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason,
    code,
  }
}

function answer(response: ServerResponse, code: number, body: unknown): true {
  response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  return true
}

/** An HTTP server with the answers that a real API server gave: objects, `Status` bodies, optimistic concurrency. */
export async function startKubernetes(): Promise<KubernetesStub> {
  const directory = await mkdtemp(join(tmpdir(), 'kubernetes-'))
  const tokenFile = join(directory, 'token')
  const server = createServer((request, response) => void handle(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const stub: KubernetesStub = {
    address: { url: `http://127.0.0.1:${port}`, tokenFile },
    calls: [],
    objects: new Map(),
    intercept: () => false,
    setToken: (token) => writeFile(tokenFile, `${token}\n`),
    async stop() {
      server.closeAllConnections()
      server.close()
      await rm(directory, { recursive: true })
    },
  }
  await stub.setToken('token-1')
  return stub

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { method = '', url: path = '', headers } = request
    const call = {
      method,
      path,
      authorization: headers.authorization,
      contentType: headers['content-type'],
    }
    stub.calls.push(call)
    if (stub.intercept(call, response)) return
    const object = stub.objects.get(path)
    if (!object) {
      const [name, kind] = path.split('/').reverse()
      return void answer(response, 404, status(404, 'NotFound', `${kind} "${name}" not found`))
    }
    if (method === 'GET') return void answer(response, 200, object)
    const patch = JSON.parse(Buffer.concat(chunks).toString()) as StoredObject
    const expected = patch.metadata?.['resourceVersion']
    if (expected !== undefined && expected !== object.metadata['resourceVersion']) {
      const message = `Operation cannot be fulfilled on ${path}: the object has been modified; please apply your changes to the latest version and try again`
      return void answer(response, 409, status(409, 'Conflict', message))
    }
    const merged = merge(object, patch) as StoredObject
    merged.metadata['resourceVersion'] = String(Number(object.metadata['resourceVersion']) + 1)
    stub.objects.set(path, merged)
    answer(response, 200, merged)
  }
}

function merge(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch
  const base = typeof target === 'object' && target !== null ? target : {}
  const merged: Record<string, unknown> = { ...base }
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key]
    else merged[key] = merge(merged[key], value)
  }
  return merged
}
