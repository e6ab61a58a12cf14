import { once } from 'node:events'
import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface BrokenCrew {
  readonly url: string
  /** How often a run was started here. */
  readonly kickoffs: () => number
  stop(): Promise<void>
}

export const line = (event: object): string =>
  `${JSON.stringify({ at: new Date().toISOString(), ...event })}\n`

/** The first line of a run, with the headers before it. */
export function begin(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/x-ndjson' })
  response.write(line({ type: 'crew_started', crew: 'Research' }))
}

/** A crew that misbehaves as a test tells it to. */
export async function startBrokenCrew(
  answer: (response: ServerResponse, kickoffs: number) => void,
): Promise<BrokenCrew> {
  let kickoffs = 0
  const server = createServer((request, response) => {
    request.resume()
    request.on('end', () => {
      if (request.url !== '/kickoff') return void response.writeHead(404).end()
      kickoffs += 1
      answer(response, kickoffs)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    kickoffs: () => kickoffs,
    async stop() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
