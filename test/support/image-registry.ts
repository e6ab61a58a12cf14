import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { startHttpServer } from './http-server.ts'

/** A registry of images as far as the platform asks one: manifests and their tags. */
export async function startImageRegistry() {
  const manifests = new Map<string, string>()
  const tags = new Map<string, string>()
  function remove(repository: string, reference: string): void {
    manifests.delete(`${repository}@${reference}`)
    for (const [tag, digest] of tags) {
      if (digest === reference && tag.startsWith(`${repository}:`)) tags.delete(tag)
    }
  }
  const answers = (request: IncomingMessage, response: ServerResponse): void => {
    const [, repository = '', kind = '', reference = ''] =
      /^\/v2\/(.+)\/(tags|manifests)\/([^/]+)$/.exec(request.url ?? '') ?? []
    const named = (tag: string): string => `${repository}:${tag}`
    const digest = tags.get(named(reference)) ?? reference
    const found = manifests.get(`${repository}@${digest}`)
    if (kind === 'tags') {
      const prefix = named('')
      const all = [...tags.keys()].filter((each) => each.startsWith(prefix))
      response.end(JSON.stringify({ tags: all.map((each) => each.slice(prefix.length)) }))
    } else if (found === undefined) response.writeHead(404).end('{"errors":[]}')
    else if (request.method === 'DELETE') {
      remove(repository, digest)
      response.writeHead(202).end()
    } else response.writeHead(200, { 'docker-content-digest': digest }).end(found)
  }
  const server = await startHttpServer(answers)
  return {
    address: new URL(server.url).host,
    /** Returns the digest of an image with one layer of so many bytes. */
    push(repository: string, tag: string, size: number): string {
      const layers = [{ digest: `sha256:${String(size).padStart(64, '0')}`, size }]
      const text = JSON.stringify({ config: { digest: 'sha256:c', size: 1 }, layers })
      const digest = `sha256:${createHash('sha256').update(text).digest('hex')}`
      manifests.set(`${repository}@${digest}`, text)
      tags.set(`${repository}:${tag}`, digest)
      return digest
    },
    tags: () => [...tags.keys()].sort(),
    digests: () => [...manifests.keys()].sort(),
    stop: () => server.stop(),
  }
}
