import { writeFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { startKubernetes } from '../../../support/kubernetes.ts'
import { httpServer } from '../../web/diagnostics/support/faults.ts'

/** What surrounds an installation that is to be made; tests change it. */
export type Landscape = Awaited<ReturnType<typeof startLandscape>>

/** Starts a cluster, a registry and an identity provider that have all that is needed. */
export async function startLandscape(directory: string) {
  const state = {
    /** Rights that the installer lacks, such as `create roles`. */
    denied: new Set<string>(),
    /** What the registry has; `private` wants the login `me:pass`. */
    images: new Set(['crew-platform/platform', 'crew-platform/collector', 'registry']),
    isPrivate: false,
    keys: [{ kty: 'RSA', use: 'sig' }] as object[],
    /** How far the provider's clock is ahead. */
    skewSeconds: 0,
    issuerPath: '',
  }
  const cluster = await startKubernetes()
  cluster.objects.set('/version', versionObject('30'))
  cluster.objects.set('/apis/storage.k8s.io/v1/storageclasses', storageClasses(true))
  cluster.intercept = ({ path, body }, response) => {
    if (!path.includes('selfsubjectaccessreviews')) return false
    const { spec } = body as { spec: { resourceAttributes: { verb: string; resource: string } } }
    const { verb, resource } = spec.resourceAttributes
    response.writeHead(201, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ status: { allowed: !state.denied.has(`${verb} ${resource}`) } }))
    return true
  }
  const registry = await httpServer((request, response) => answerRegistry(state, request, response))
  const provider = await httpServer((request, response) => {
    const base = `http://${request.headers.host}`
    response.setHeader('date', new Date(Date.now() + state.skewSeconds * 1000).toUTCString())
    response.setHeader('content-type', 'application/json')
    const document = { issuer: `${base}${state.issuerPath}`, jwks_uri: `${base}/keys` }
    response.end(JSON.stringify(request.url === '/keys' ? { keys: state.keys } : document))
  })
  const kubeconfig = join(directory, 'kubeconfig')
  await writeFile(kubeconfig, stringify(kubeconfigOf(cluster.address.url)))
  const values = join(directory, 'values.yaml')
  await writeFile(
    values,
    stringify({
      global: { image: { registry: `127.0.0.1:${registry.port}` } },
      postgres: { enabled: false },
      buildkit: { enabled: false },
      auth: { provider: 'keycloak', issuerUrl: `${provider.url}/` },
    }),
  )
  return {
    state,
    cluster,
    kubeconfig,
    values,
    registry,
    provider,
    async stop() {
      await Promise.all([registry.stop(), provider.stop(), cluster.stop()])
    },
  }
}

export const versionObject = (minor: string) => ({
  metadata: {},
  major: '1',
  minor,
  gitVersion: `v1.${minor}.0`,
})

export const storageClasses = (hasDefault: boolean) => ({
  metadata: {},
  items: [
    {
      metadata: {
        name: 'standard',
        annotations: { 'storageclass.kubernetes.io/is-default-class': String(hasDefault) },
      },
    },
  ],
})

export const kubeconfigOf = (server: string, user: object = { token: 'token-1' }) => ({
  apiVersion: 'v1',
  kind: 'Config',
  'current-context': 'test',
  clusters: [{ name: 'c', cluster: { server } }],
  contexts: [{ name: 'test', context: { cluster: 'c', user: 'u' } }],
  users: [{ name: 'u', user }],
})

function answerRegistry(
  { images, isPrivate }: { images: Set<string>; isPrivate: boolean },
  { url = '', headers }: IncomingMessage,
  response: ServerResponse,
): void {
  const login = `Basic ${Buffer.from('me:pass').toString('base64')}`
  if (url.startsWith('/token')) {
    const token = headers.authorization === login || !isPrivate ? 'good' : 'bad'
    return void response.end(JSON.stringify({ token }))
  }
  if (headers.authorization !== 'Bearer good') {
    const realm = `http://${headers.host}/token`
    response.setHeader('www-authenticate', `Bearer realm="${realm}",service="r",scope="pull"`)
    return void response.writeHead(401).end()
  }
  const [, path = ''] = /^\/v2\/(.+)\/manifests\//.exec(url) ?? []
  response.writeHead(images.has(path) ? 200 : 404).end()
}
