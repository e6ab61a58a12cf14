import { createHash } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { startHttpServer } from '../../support/http-server.ts'

const digestOf = (content: Buffer): string =>
  `sha256:${createHash('sha256').update(content).digest('hex')}`

/** A registry to which artifacts are pushed, as far as Helm asks one. */
export async function startChartRegistry() {
  const blobs = new Map<string, Buffer>()
  const manifests = new Map<string, Buffer>()
  const server = await startHttpServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://registry')
    const content = await buffer(request)
    const [, blob] = /\/blobs\/(sha256:\w+)$/.exec(pathname) ?? []
    const [, manifest] = /^\/v2\/(.+\/manifests\/.+)$/.exec(pathname) ?? []
    if (request.method === 'POST') response.writeHead(202, { location: `${pathname}one` }).end()
    else if (request.method === 'PUT') {
      const digest = digestOf(content)
      if (manifest) manifests.set(manifest, content)
      else blobs.set(searchParams.get('digest') ?? '', content)
      response.writeHead(201, { 'docker-content-digest': digest }).end()
    } else {
      const found = manifests.get(manifest ?? '') ?? blobs.get(blob ?? '')
      if (!found) return response.writeHead(404).end()
      const type = manifest ? 'application/vnd.oci.image.manifest.v1+json' : 'application/gzip'
      const size = found.length
      const digest = digestOf(found)
      const head = { 'content-type': type, 'content-length': size, 'docker-content-digest': digest }
      response.writeHead(200, head).end(request.method === 'HEAD' ? '' : found)
    }
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
