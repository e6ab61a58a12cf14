import type { IncomingMessage, ServerResponse } from 'node:http'
import { CODINGS } from './inflate.ts'
import type { ContentCoding } from './inflate.ts'
import type { Delivery } from './ingest.ts'
import type { Encoding } from '../otlp/answer.ts'
import { mediaType } from '../otlp/refusals.ts'
import { declaredLength, readBody } from './request-body.ts'

/**
 * A request of the raw HTTP server: the body is read from it without a detour through web streams.
 */
export interface Exchange {
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
}

/** A submission over HTTP; `encoding` is undefined when its Content-Type is none of OTLP's. */
export function httpDelivery(
  { incoming, outgoing }: Exchange,
  encoding: Encoding | undefined,
): Delivery {
  return {
    rawHeaders: incoming.rawHeaders,
    describe() {
      if (encoding) {
        return { encoding, coding: contentCoding(incoming), length: declaredLength(incoming) }
      }
      throw mediaType('Content-Type must be application/x-protobuf or application/json')
    },
    read(place, limits) {
      // A client that asked first gets its go-ahead only now (RFC 9110 section 10.1.1).
      if (incoming.headers.expect !== undefined) outgoing.writeContinue()
      return readBody(incoming, place, limits)
    },
  }
}

function contentCoding({ headers }: IncomingMessage): ContentCoding | undefined {
  const name = (headers['content-encoding'] ?? 'identity').trim().toLowerCase()
  if (name === 'identity' || name === '') return undefined
  const coding = CODINGS.find((known) => known === name)
  if (!coding) throw mediaType(`Content-Encoding must be identity or one of ${CODINGS.join(', ')}`)
  return coding
}
