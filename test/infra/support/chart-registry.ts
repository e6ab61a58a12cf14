import { createHash } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { startHttpServer } from '../../support/http-server.ts'

const digestOf = (content: Buffer): string =>
  `sha256:${createHash('sha256').update(content).digest('hex')}`

const DIGEST = 'docker-content-digest'
const MANIFEST = 'application/vnd.oci.image.manifest.v1+json'

interface Named {
  readonly blob?: string | undefined
  readonly manifest?: string | undefined
}

function namesIn(url: string): Named {
  const { pathname, searchParams } = new URL(url, 'http://registry')
  const [, manifest] = /^\/v2\/(.+\/manifests\/.+)$/.exec(pathname) ?? []
  const [, blob = searchParams.get('digest') ?? undefined] =
    /\/blobs\/(sha256:\w+)$/.exec(pathname) ?? []
  return { blob, manifest }
}

/** A registry to which artifacts are pushed, as far as Helm asks one. */
export async function startChartRegistry() {
  const blobs = new Map<string, Buffer>()
  const manifests = new Map<string, Buffer>()
  const store = (content: Buffer, { blob, manifest }: Named): string => {
    const digest = digestOf(content)
    if (manifest) manifests.set(manifest, content)
    else blobs.set(blob ?? digest, content)
    return digest
  }
  const server = await startHttpServer(async (request, response) => {
    const named = namesIn(request.url ?? '')
    const content = await buffer(request)
    if (request.method === 'POST')
      return response.writeHead(202, { location: `${request.url}one` }).end()
    if (request.method === 'PUT')
      return response.writeHead(201, { [DIGEST]: store(content, named) }).end()
    const found = manifests.get(named.manifest ?? '') ?? blobs.get(named.blob ?? '')
    if (!found) return response.writeHead(404).end()
    const head = { 'content-type': MANIFEST, 'content-length': found.length }
    response.writeHead(200, { ...head, [DIGEST]: digestOf(found) })
    return response.end(request.method === 'HEAD' ? '' : found)
  })
  return {
    address: new URL(server.url).host,
    /** Returns the content under a reference such as `charts/platform:1.0.0`, layer for layer. */
    contentOf(reference: string): readonly (Buffer | undefined)[] {
      const manifest = manifests.get(reference.replace(':', '/manifests/'))
      const { layers = [] }: { layers?: { digest: string }[] } = JSON.parse(`${manifest ?? '{}'}`)
      return layers.map(({ digest }) => blobs.get(digest))
    },
    stop: () => server.stop(),
  }
}
