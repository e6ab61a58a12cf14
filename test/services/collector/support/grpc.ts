import { Client, credentials, Metadata } from '@grpc/grpc-js'
import type { ChannelCredentials, ClientOptions } from '@grpc/grpc-js'
import { bearer } from './harness.ts'
import { decodeFields } from './status.ts'

export const SERVICE = '/opentelemetry.proto.collector'
export const TRACES = `${SERVICE}.trace.v1.TraceService/Export`

/** The answer to a call, whatever its status. */
interface GrpcAnswer {
  readonly code: number
  readonly message: string
  /** The response message of a call with the status 0. */
  readonly body: Buffer | undefined
  /** The type URLs of the details of the status. */
  readonly details: readonly string[]
  readonly trailers: Readonly<Record<string, unknown>>
}

export interface GrpcClient {
  /** Sends one message with a fresh token; metadata given replaces the usual one. */
  send(body: Buffer, given?: { path?: string; metadata?: Metadata }): Promise<GrpcAnswer>
  close(): void
}

interface GrpcClientOptions {
  readonly credentials?: ChannelCredentials
  readonly compression?: 'none' | 'deflate' | 'gzip'
}

const COMPRESSION = { none: 0, deflate: 1, gzip: 2 }
/** A test waits for its answer, and never for another connection. */
const BASE: ClientOptions = { 'grpc.enable_retries': 0, 'grpc.use_local_subchannel_pool': 1 }

export function openGrpc(url: string, options: GrpcClientOptions = {}): GrpcClient {
  const compression = COMPRESSION[options.compression ?? 'none']
  const target = new URL(url).host
  const client = new Client(target, options.credentials ?? credentials.createInsecure(), {
    ...BASE,
    'grpc.default_compression_algorithm': compression,
  })
  return {
    async send(body, { path = TRACES, metadata } = {}) {
      const sent = metadata ?? (await authorized())
      return new Promise((resolve) => {
        client.makeUnaryRequest(path, same, same, body, sent, (error, response) => {
          resolve(error ? failureOf(error) : { ...TAKEN, body: response })
        })
      })
    },
    close: () => client.close(),
  }
}

const same = (bytes: Buffer): Buffer => bytes
const TAKEN = { code: 0, message: '', details: [], trailers: {} } as const

export async function authorized(more: Record<string, string> = {}): Promise<Metadata> {
  const metadata = new Metadata()
  const all = { authorization: await bearer(), ...more }
  for (const [name, value] of Object.entries(all)) metadata.set(name, value)
  return metadata
}

interface Failure {
  readonly code: number
  readonly details: string
  readonly metadata: Metadata
}

function failureOf({ code, details, metadata }: Failure): GrpcAnswer {
  const [status] = metadata.get('grpc-status-details-bin')
  return {
    code,
    message: details,
    body: undefined,
    details: status instanceof Buffer ? detailTypes(status) : [],
    trailers: metadata.getMap(),
  }
}

const detailTypes = (status: Buffer): string[] =>
  decodeFields(status)
    .filter(({ number }) => number === 3)
    .map(({ value }) => String(decodeFields(value as Buffer).find((f) => f.number === 1)?.value))
