import { once } from 'node:events'
import { connect } from 'node:http2'
import type { ClientHttp2Session } from 'node:http2'
import { setTimeout as delay } from 'node:timers/promises'
import { TRACES } from '../../services/collector/support/grpc.ts'
import type { LoadResult } from './load.ts'

interface GrpcLoad {
  readonly sessions: readonly ClientHttp2Session[]
  readonly token: string
  readonly bodies: readonly Buffer[]
}

const AFTER_REFUSAL_MS = 100
const PREFIX_BYTES = 5
const UNAVAILABLE = '14'

export const openSessions = (url: string, count: number): ClientHttp2Session[] =>
  Array.from({ length: count }, () => connect(url))

/**
 * As `sendLoad`, over gRPC: every body once, over sessions that each have one call at a time.
 */
export async function sendGrpcLoad({ sessions, token, bodies }: GrpcLoad): Promise<LoadResult> {
  const latenciesMs: number[] = []
  let refusals = 0
  const queue = bodies.values()
  const started = performance.now()
  await Promise.all(
    sessions.map(async (session) => {
      for (const body of queue) {
        const sent = performance.now()
        while (!(await isTaken(session, token, body))) {
          refusals++
          await delay(AFTER_REFUSAL_MS)
        }
        latenciesMs.push(performance.now() - sent)
      }
    }),
  )
  return { seconds: (performance.now() - started) / 1000, latenciesMs, refusals }
}

async function isTaken(session: ClientHttp2Session, token: string, body: Buffer): Promise<boolean> {
  const stream = session.request({
    ':method': 'POST',
    ':path': TRACES,
    'content-type': 'application/grpc',
    te: 'trailers',
    authorization: token,
  })
  let status: unknown
  const note = (headers: Record<string, unknown>): void => void (status ??= headers['grpc-status'])
  stream.on('response', note).on('trailers', note).resume()
  const prefix = Buffer.alloc(PREFIX_BYTES)
  prefix.writeUInt32BE(body.length, 1)
  stream.cork()
  stream.write(prefix)
  stream.end(body)
  stream.uncork()
  await once(stream, 'close')
  if (status === UNAVAILABLE) return false
  if (status !== '0') throw new Error(`the status was ${String(status)}`)
  return true
}
