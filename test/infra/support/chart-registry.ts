import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
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
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const named = namesIn(request.url ?? '')
    const content = await buffer(request)
    const found = manifests.get(named.manifest ?? '') ?? blobs.get(named.blob ?? '')
    if (request.method === 'POST') response.writeHead(202, { location: `${request.url}one` }).end()
    else if (request.method === 'PUT')
      response.writeHead(201, { [DIGEST]: store(content, named) }).end()
    else if (!found) response.writeHead(404).end()
    else {
      const head = { 'content-type': MANIFEST, 'content-length': found.length }
      response.writeHead(200, { ...head, [DIGEST]: digestOf(found) })
      response.end(request.method === 'HEAD' ? '' : found)
    }
  }
  const server = await startHttpServer((request, response) => {
    answer(request, response).catch(() => response.destroy())
  })
  return {
    address: new URL(server.url).host,
    /** Returns the content under a reference such as `charts/platform:1.0.0`, layer for layer. */
    contentOf(reference: string): readonly (Buffer | undefined)[] {
      const manifest = manifests.get(reference.replace(':', '/manifests/'))
      const { layers = [] }: { layers?: { digest: string }[] } = JSON.parse(
        manifest?.toString() ?? '{}',
      )
      return layers.map(({ digest }) => blobs.get(digest))
    },
    stop: () => server.stop(),
  }
}
