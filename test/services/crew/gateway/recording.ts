import type { IncomingMessage, ServerResponse } from 'node:http'
import { readFileSync, writeFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { startHttpServer } from '../../../support/http-server.ts'

const FILE = fileURLToPath(new URL('recorded.json', import.meta.url))

/** What the gateway answered, by `<path> <provider> <whole or streamed>`, in its order. */
type Recorded = Record<string, { status: number; type: string; body: string }[]>

/**
 * Stands before the gateway and keeps its answers; without a gateway gives those that were kept
 * before, each as the answer to the next request of its kind.
 */
export async function startRecording(gatewayUrl: string | undefined) {
  const kept: Recorded =
    gatewayUrl === undefined ? (JSON.parse(readFileSync(FILE, 'utf8')) as Recorded) : {}
  const requests: string[] = []
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request)
    requests.push(body)
    const { model, stream = false } = JSON.parse(body) as { model: string; stream?: boolean }
    const key = `${request.url?.replace('/v1/', '')} ${model} ${stream ? 'streamed' : 'whole'}`
    const answers = (kept[key] ??= [])
    if (gatewayUrl === undefined) {
      const none = { status: 404, type: 'text/plain', body: 'no answer' }
      const { status, type, body: said } = answers.shift() ?? none
      response.writeHead(status, { 'content-type': type }).end(said)
      return
    }
    const { authorization = '', 'content-type': given = '' } = request.headers
    const headers = { authorization, 'content-type': given }
    const answered = await fetch(gatewayUrl + request.url, { method: 'POST', headers, body })
    const [type, said] = [answered.headers.get('content-type') ?? '', await answered.text()]
    answers.push({ status: answered.status, type, body: said })
    response.writeHead(answered.status, { 'content-type': type }).end(said)
  }
  const server = await startHttpServer((request, response) => {
    answer(request, response).catch(() => response.destroy())
  })
  return {
    ...server,
    requests,
    save: () => writeFileSync(FILE, `${JSON.stringify(kept, null, 2)}\n`),
  }
}
