import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as v from 'valibot'
import { AppError, toError } from '../../../shared/errors.ts'
import { apply } from '../../../shared/kubernetes/apply.ts'
import type { Kubernetes } from '../../../shared/kubernetes/client.ts'
import type { workerEnv } from '../../env.ts'
import { findObject } from './cluster-calls.ts'
import type { Certificates, ImageBuilder } from './cluster-settings.ts'

type WorkerConfig = v.InferOutput<typeof workerEnv>

/** The node port of a Service does not change while it is there. */
const FRESH_MS = 60_000

/**
 * Opens what builds images; undefined where BuildKit or the registry is off, or where nothing tells
 * their callers apart.
 */
export function openBuilder(
  config: Pick<
    WorkerConfig,
    | 'BUILDKIT_IMAGE'
    | 'BUILDKIT_ADDRESS'
    | 'BUILDKIT_CERTIFICATES'
    | 'BUILDKIT_ORGANIZATIONS'
    | 'POD_NAMESPACE'
    | 'REGISTRY_ADDRESS'
    | 'REGISTRY_PULL_ADDRESS'
    | 'REGISTRY_SERVICE'
    | 'REGISTRY_KEY'
  >,
  kubernetes: Kubernetes,
): ImageBuilder | undefined {
  const { BUILDKIT_IMAGE: image, BUILDKIT_ADDRESS: address, REGISTRY_KEY: registryKey } = config
  const { BUILDKIT_CERTIFICATES: directory, REGISTRY_ADDRESS: registry } = config
  const { REGISTRY_PULL_ADDRESS: given, REGISTRY_SERVICE: name, POD_NAMESPACE: namespace } = config
  if (!image || !address || !directory || !registry || !registryKey) return undefined
  if (!name || !namespace) return undefined
  const find = cached(() => findNodePort(kubernetes, { name, namespace }))
  return {
    image,
    address,
    registry,
    organizations: config.BUILDKIT_ORGANIZATIONS,
    registryKey,
    certificates: () => readCertificates(directory),
    freeImages: () => restartRegistry(kubernetes, { name, namespace }),
    async pullAddress() {
      return given ?? `localhost:${await find()}`
    },
  }
}

async function readCertificates(directory: string): Promise<Certificates> {
  const read = (name: string): Promise<string> => readFile(join(directory, name), 'utf8')
  try {
    const [ca, cert, key] = await Promise.all([
      read('ca.pem'),
      read('client-cert.pem'),
      read('client-key.pem'),
    ])
    return { ca, cert, key }
  } catch (thrown) {
    throw new AppError(
      'unavailable',
      `The certificates of builds in ${directory} cannot be read: ${toError(thrown).message}. ` +
        'The bootstrap Job makes them; a Secret in buildkit.tlsSecret has client-cert.pem and ' +
        'client-key.pem too.',
    )
  }
}

/** Nothing may be pushed while the registry looks for what nobody names any more. */
async function restartRegistry(kubernetes: Kubernetes, { name, namespace }: Place): Promise<void> {
  const annotations = { 'platform/collected-at': new Date().toISOString() }
  await apply(
    kubernetes,
    { kind: 'Deployment', name, namespace },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name, namespace },
      spec: { template: { metadata: { annotations } } },
    },
  )
}

interface Place {
  readonly name: string
  readonly namespace: string
}

const service = v.object({
  spec: v.object({
    ports: v.array(v.object({ nodePort: v.optional(v.number()) })),
  }),
})

async function findNodePort(kubernetes: Kubernetes, { name, namespace }: Place): Promise<number> {
  const found = await findObject(kubernetes, { kind: 'Service', name, namespace })
  const ports = found === undefined ? [] : v.parse(service, found).spec.ports
  const port = ports[0]?.nodePort
  if (port !== undefined) return port
  throw new AppError(
    'unavailable',
    `The Service ${name} has no node port, so that nodes cannot pull images. Apply the chart ` +
      'again, or set internalRegistry.pullAddress.',
  )
}

function cached<Value>(load: () => Promise<Value>): () => Promise<Value> {
  let known: { readonly value: Value; readonly until: number } | undefined
  return async function findFresh() {
    if (known && known.until > performance.now()) return known.value
    const value = await load()
    known = { value, until: performance.now() + FRESH_MS }
    return value
  }
}
