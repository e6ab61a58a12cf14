import { text } from 'node:stream/consumers'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { startHttpServer } from '../../../support/http-server.ts'
import { PROVIDERS, SEALED } from './providers.ts'
import type { Provider } from './providers.ts'

/** A call of a provider by the gateway. */
interface UpstreamCall {
  readonly provider: string
  readonly isStreamed: boolean
  /** What the request has of the tool's result, in the provider's form. */
  readonly result: unknown
  /** Whether the request has what the model reasoned before. */
  readonly isSealed: boolean
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
  if (!provider) return void response.writeHead(404).end()
  if (path === provider.refusal?.path) return send(response, 400, refusalOf(provider.refusal))
  const isStreamed = asksForStream(provider, path, body)
  if (path !== provider.paths[isStreamed ? 'streamed' : 'whole']) {
    return void response.writeHead(404).end()
  }
  const result = findPart(body, provider.isResult)
  const isSealed = JSON.stringify(body).includes(SEALED)
  calls.push({ provider: name, isStreamed, result, isSealed })
  const turn = result === undefined ? 'call' : 'answer'
  if (isStreamed) stream(response, provider.streamed(turn))
  else send(response, 200, provider.whole(turn))
}

const refusalOf = ({ message }: { readonly message: string }) => ({
  error: { message, type: 'invalid_request_error', param: 'reasoning_effort', code: null },
})

const send = (response: ServerResponse, status: number, body: unknown): void =>
  void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))

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
