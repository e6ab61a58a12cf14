import * as v from 'valibot'
import { toAnswer } from '../ask.ts'
import type { Cluster } from '../kubernetes/cluster.ts'
import type { Collection } from './collection.ts'

const LOG_LINES_MAX = 2000
const LOG_BYTES_MAX = 512 * 1024
const COMPONENT = 'app.kubernetes.io/component'
/** Components that answer `GET /health` on their port `http`. */
const ANSWERING = new Set(['web', 'worker', 'oauth', 'collector'])

const container = v.object({
  name: v.string(),
  ports: v.optional(
    v.array(v.object({ name: v.optional(v.string(), ''), containerPort: v.number() })),
    [],
  ),
})

/** What is read of a pod to ask it for more. */
export const podSchema = v.object({
  metadata: v.object({
    name: v.string(),
    labels: v.optional(v.record(v.string(), v.string()), {}),
    annotations: v.optional(v.record(v.string(), v.string()), {}),
  }),
  spec: v.object({
    initContainers: v.optional(v.array(container), []),
    containers: v.array(container),
  }),
})

type Pod = v.InferOutput<typeof podSchema>

interface PodScope {
  readonly collection: Collection
  readonly token: string
  readonly isLogged: boolean
}

/** Collects the logs of a pod, and what it answers about itself, through the API server. */
export async function collectPod(cluster: Cluster, pod: Pod, scope: PodScope): Promise<void> {
  if (scope.isLogged) await collectLogs(cluster, pod, scope.collection)
  const { name, labels } = pod.metadata
  const component = labels[COMPONENT] ?? ''
  if (!ANSWERING.has(component)) return
  const http = portOf(pod, 'http')
  const asked = { cluster, pod: name, collection: scope.collection }
  if (http) await collectAnswer({ ...asked, port: http, path: '/health', file: 'health.json' })
  const metrics = pod.metadata.annotations['prometheus.io/port'] ?? portOf(pod, 'metrics') ?? http
  if (metrics) {
    await collectAnswer({ ...asked, port: metrics, path: '/metrics', file: 'metrics.txt' })
  }
  if (component === 'web' && http) await collectReport({ ...asked, port: http, token: scope.token })
}

const portOf = ({ spec }: Pod, name: string): string | undefined => {
  const ports = spec.containers.flatMap((each) => each.ports)
  return ports.find((port) => port.name === name)?.containerPort.toString()
}

async function collectLogs(
  { call, namespace }: Cluster,
  { metadata: { name }, spec }: Pod,
  collection: Collection,
): Promise<void> {
  const base = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${name}/log`
  for (const each of [...spec.initContainers, ...spec.containers]) {
    for (const isPrevious of [false, true]) {
      const query = new URLSearchParams({
        container: each.name,
        timestamps: 'true',
        tailLines: String(LOG_LINES_MAX),
        limitBytes: String(LOG_BYTES_MAX),
        ...(isPrevious ? { previous: 'true' } : {}),
      })
      const path = `${base}?${query.toString()}`
      const result = await call({ method: 'GET', path, answer: 'text' })
      const file = `${each.name}${isPrevious ? '.previous' : ''}.log`
      if ('object' in result && typeof result.object === 'string' && result.object !== '') {
        collection.addText(`logs/${namespace}/${name}/${file}`, result.object)
      }
      // Most containers have no run before.
      if ('failure' in result && !isPrevious) {
        collection.note(`the log of ${name}/${each.name}`, result.failure.message)
      }
    }
  }
}

interface Asked {
  readonly cluster: Cluster
  readonly pod: string
  readonly port: string
  readonly collection: Collection
}

const answer = v.object({ status: v.number(), text: v.string() })

async function askPod(
  { cluster: { call, namespace }, pod, port }: Asked,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<v.InferOutput<typeof answer>> {
  const proxy = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${pod}:${port}/proxy`
  const result = await call({ method: 'GET', path: `${proxy}${path}`, answer: 'any', headers })
  if ('failure' in result) throw new Error(result.failure.message)
  return v.parse(answer, result.object)
}

async function collectAnswer(
  asked: Asked & { readonly path: string; readonly file: string },
): Promise<void> {
  const { collection, pod, path, file } = asked
  await collection.part(`${path} of ${pod}`, async () => {
    const { status, text } = await askPod(asked, path)
    // The API server's own refusal is a Status; /health of a sick pod is 503 and worth having.
    if (status >= 400 && text.includes('"kind":"Status"')) throw new Error(`HTTP ${status}`)
    collection.addText(`pods/${pod}/${file}`, text)
  })
}

async function collectReport(asked: Asked & { readonly token: string }): Promise<void> {
  const { collection, pod, token } = asked
  const what = `the diagnostic report of ${pod}`
  if (token === '') return collection.note(what, 'the debug token is not known')
  await collection.part(what, async () => {
    const headers = { 'x-platform-debug-token': token }
    const { report, problem } = toAnswer(pod, await askPod(asked, '/health/debug', headers))
    if (!report) throw new Error(problem)
    collection.addJson(`pods/${pod}/report.json`, report)
  })
}
