import { text } from 'node:stream/consumers'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { startHttpServer } from '../../../support/http-server.ts'
import { PROVIDERS } from './providers.ts'
import type { Provider } from './providers.ts'

/** A call of a provider by the gateway. */
interface UpstreamCall {
  readonly provider: string
  readonly isStreamed: boolean
  /** What the request has of the tool's result, in the provider's form. */
  readonly result: unknown
}

/** Starts all providers, each at its own path: `/azure/openai/deployments/…`. */
export async function startUpstream() {
  const calls: UpstreamCall[] = []
  const server = await startHttpServer((request, response) => {
    answer(request, response, calls).catch(() => response.destroy())
  })
  return { ...server, calls }
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  calls: UpstreamCall[],
): Promise<void> {
  const [, name = '', path = ''] = /^\/(\w+)([^?]*)/.exec(request.url ?? '') ?? []
  const provider = PROVIDERS[name]
  const body: unknown = JSON.parse(await text(request))
  const isStreamed = provider !== undefined && asksForStream(provider, path, body)
  if (!provider || path !== provider.paths[isStreamed ? 'streamed' : 'whole']) {
    response.writeHead(404).end()
    return
  }
  const result = findPart(body, provider.isResult)
  calls.push({ provider: name, isStreamed, result })
  const turn = result === undefined ? 'call' : 'answer'
  if (isStreamed) stream(response, provider.streamed(turn))
  else
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify(provider.whole(turn)))
}

function stream(response: ServerResponse, parts: readonly (string | Buffer)[]): void {
  const isBinary = parts.some((part) => typeof part !== 'string')
  const type = isBinary ? 'application/vnd.amazon.eventstream' : 'text/event-stream'
  response.writeHead(200, { 'content-type': type })
  for (const part of parts) response.write(part)
  response.end()
}

function asksForStream({ paths }: Provider, path: string, body: unknown): boolean {
  if (paths.whole !== paths.streamed) return path === paths.streamed
  return typeof body === 'object' && body !== null && 'stream' in body && body.stream === true
}

/** The first object within a value that is what is looked for. */
function findPart(value: unknown, isIt: Provider['isResult']): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  const fields = value as Readonly<Record<string, unknown>>
  if (isIt(fields)) return value
  for (const part of Object.values(fields)) {
    const found = findPart(part, isIt)
    if (found !== undefined) return found
  }
  return undefined
}
