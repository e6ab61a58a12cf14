import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { KubernetesAddress } from '../../services/shared/kubernetes/client.ts'

export interface RecordedCall {
  readonly method: string
  readonly path: string
  readonly authorization: string | undefined
  readonly contentType: string | undefined
  /** Of a write. */
  readonly body: unknown
}

export interface KubernetesStub {
  readonly address: KubernetesAddress
  readonly calls: RecordedCall[]
  /**
   * Objects by path, with its query or for any; each write raises `metadata.resourceVersion`, as
   * the API server does. A server-side apply creates what is not there.
   */
  readonly objects: Map<string, StoredObject>
  /** Output of containers, in lines with their times, by the path of the log without its query. */
  readonly logs: Map<string, string>
  /** Runs before each answer; may answer itself. */
  intercept: (call: RecordedCall, response: ServerResponse) => boolean
  setToken(token: string): Promise<void>
  stop(): Promise<void>
}

export type StoredObject = Record<string, unknown> & { metadata: Record<string, unknown> }

/** The answer of a real API server to a call without the right. */
export function forbidden(
  response: ServerResponse,
  what: { verb: string; resource: string; namespace?: string },
): true {
  const message =
    `${what.resource} is forbidden: User "system:serviceaccount:default:bootstrap" cannot ` +
    `${what.verb} resource "${what.resource}" in API group "" in the namespace ` +
    `"${what.namespace ?? 'default'}"`
  return answer(response, 403, status(403, 'Forbidden', message))
}

/**
 * The rights that a call takes, as a Role grants them: `get apps/deployments`. An apply may have to
 * create.
 */
export function rightsOf({ method, path, contentType }: RecordedCall): readonly string[] {
  const [plain = ''] = path.split('?')
  const [, group = '', resource = '', name] =
    /^\/(?:api|apis\/([a-z.]+))\/v1(?:\/namespaces\/[^/]+)?\/([a-z]+)(?:\/([^/]+))?$/.exec(plain) ??
    []
  const verbs =
    contentType === 'application/apply-patch+yaml'
      ? ['create', 'patch']
      : [method === 'GET' && name === undefined ? 'list' : method.toLowerCase()]
  return verbs.map((verb) => `${verb} ${group}/${resource}`)
}

/** Any other refusal, as the API server words it. */
export const refuse = (
  response: ServerResponse,
  { code, reason, message }: { code: number; reason: string; message: string },
): true => answer(response, code, status(code, reason, message))

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

/** The texts of a Secret, as the API server turns them into data. */
function withData({ stringData, ...patch }: StoredObject): StoredObject {
  if (stringData === undefined) return patch
  const encoded = Object.entries(stringData as object).map(([key, value]) => [
    key,
    Buffer.from(String(value)).toString('base64'),
  ])
  const data = { ...(patch['data'] as object | undefined), ...Object.fromEntries(encoded) }
  return { ...patch, data }
}

/** Services, pods and the like of one namespace. */
const isCollection = (path: string): boolean =>
  /\/namespaces\/[^/]+\/(services|pods|jobs|deployments|replicasets)$/.test(path)

function answer(response: ServerResponse, code: number, body: unknown): true {
  response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  return true
}

/**
 * An HTTP server with the answers that a real API server gave: objects, `Status` bodies, optimistic
 * concurrency.
 */
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
    logs: new Map(),
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
    const { method = '', url = '', headers } = request
    const [path = ''] = url.split('?')
    const text = Buffer.concat(chunks).toString()
    const call = {
      method,
      path: url,
      authorization: headers.authorization,
      contentType: headers['content-type'],
      body: text === '' ? undefined : (JSON.parse(text) as unknown),
    }
    stub.calls.push(call)
    if (stub.intercept(call, response)) return
    if (call.contentType === 'application/apply-patch+yaml')
      return applied(path, call.body, response)
    if (method === 'POST' && isCollection(path)) {
      return created(path, call.body as StoredObject, response)
    }
    respond(path, call, response)
  }

  function respond(path: string, call: RecordedCall, response: ServerResponse): void {
    const known = [call.path, path].find((each) => stub.objects.has(each))
    const log = stub.logs.get(path)
    if (known !== undefined || call.method !== 'GET') handleObject(known ?? path, call, response)
    else if (log !== undefined) response.writeHead(200).end(log)
    else if (isCollection(path)) listed(call.path, response)
    else handleObject(path, call, response)
  }

  function created(path: string, body: StoredObject, response: ServerResponse): void {
    const name = String(body.metadata['name'])
    if (stub.objects.has(`${path}/${name}`)) {
      const message = `${path.split('/').at(-1)} "${name}" already exists`
      return void answer(response, 409, status(409, 'AlreadyExists', message))
    }
    const creationTimestamp = new Date().toISOString()
    const metadata = {
      ...body.metadata,
      uid: randomUUID(),
      creationTimestamp,
      resourceVersion: '1',
    }
    const object = { ...body, metadata }
    stub.objects.set(`${path}/${name}`, object)
    answer(response, 201, object)
  }

  function listed(url: string, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(url, 'http://cluster')
    const wanted = (searchParams.get('labelSelector') ?? '').split(',').filter(Boolean)
    const items = [...stub.objects].flatMap(([path, object]) => {
      const labels = (object.metadata['labels'] ?? {}) as Record<string, string>
      const isIn = path.startsWith(`${pathname}/`) && !path.slice(pathname.length + 1).includes('/')
      const pairs = Object.entries(labels).map((pair) => pair.join('='))
      return isIn && wanted.every((pair) => pairs.includes(pair)) ? [object] : []
    })
    answer(response, 200, { kind: 'List', apiVersion: 'v1', metadata: {}, items })
  }

  function handleObject(path: string, call: RecordedCall, response: ServerResponse): void {
    const object = stub.objects.get(path)
    if (!object) {
      const [name, kind] = path.split('/').reverse()
      return void answer(response, 404, status(404, 'NotFound', `${kind} "${name}" not found`))
    }
    if (call.method === 'GET') return void answer(response, 200, object)
    if (call.method === 'DELETE') {
      stub.objects.delete(path)
      return void answer(response, 200, { kind: 'Status', apiVersion: 'v1', status: 'Success' })
    }
    const patch = call.body as StoredObject
    const expected = patch.metadata?.['resourceVersion']
    if (expected !== undefined && expected !== object.metadata['resourceVersion']) {
      const message =
        `Operation cannot be fulfilled on ${path}: the object has been modified; please apply ` +
        'your changes to the latest version and try again'
      return void answer(response, 409, status(409, 'Conflict', message))
    }
    const merged = merge(object, withData(patch)) as StoredObject
    merged.metadata['resourceVersion'] = String(Number(object.metadata['resourceVersion']) + 1)
    const { generation } = object.metadata
    const isSame = JSON.stringify(object['spec']) === JSON.stringify(merged['spec'])
    if (generation !== undefined && !isSame) merged.metadata['generation'] = Number(generation) + 1
    stub.objects.set(path, merged)
    answer(response, 200, merged)
  }

  /**
   * One field manager only: what it applies takes the place of what it applied before. The status
   * is not its own.
   */
  function applied(path: string, sent: unknown, response: ServerResponse): void {
    const body = sent as StoredObject
    const before = stub.objects.get(path)
    const isSame = JSON.stringify(before?.['spec']) === JSON.stringify(body['spec'])
    const { generation = 0, resourceVersion = 0 } = before?.metadata ?? {}
    const metadata = {
      ...body.metadata,
      generation: Number(generation) + (isSame ? 0 : 1),
      resourceVersion: String(Number(resourceVersion) + 1),
    }
    const object = { ...before, ...body, metadata }
    stub.objects.set(path, object)
    answer(response, before ? 200 : 201, object)
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
