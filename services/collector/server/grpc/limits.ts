import { constants } from 'node:http2'
import type { ServerHttp2Session, ServerSessionOptions, SessionOptions } from 'node:http2'

/**
 * What one connection may do. Node itself ends those that flood it: with resets (1000, then 33 a
 * second), with more than 8 CONTINUATION frames to a head, or with more than 1000 frames that need
 * an acknowledgement while they do not read.
 */
export const SESSION_LIMITS: SessionOptions & ServerSessionOptions & RejectionLimits = {
  settings: {
    maxConcurrentStreams: 100,
    /** Bytes of a body that come before anyone has asked for them. */
    initialWindowSize: 65_535,
    maxFrameSize: 16_384,
    maxHeaderListSize: 16_384,
  },
  maxHeaderListPairs: 64,
  maxSettings: 32,
  /** Megabytes for the state of a connection; a call that would need more is refused. */
  maxSessionMemory: 4,
  /** A connection with more is closed. */
  maxSessionInvalidFrames: 100,
  maxSessionRejectedStreams: 100,
  unknownProtocolTimeout: 1000,
}

/** Node's options that its types lack. */
interface RejectionLimits {
  readonly maxSessionInvalidFrames: number
  readonly maxSessionRejectedStreams: number
}

/** Connections at a time; what comes beyond them is closed. */
export const MAX_CONNECTIONS = 1000
/** Calls of all connections that are open at a time. */
export const MAX_OPEN_CALLS = 2000
/** The longest that a call may take, from its head to the last byte of its answer. */
export const MAX_CALL_MS = 30_000
/** Longer than the seconds between two exports, so that a connection serves many. */
const IDLE_MS = 300_000
const MAX_PINGS = 600
const PINGS_WITHIN_MS = 60_000

/** Closes a connection that is idle for long, and one that sends too many pings. */
export function guardSession(session: ServerHttp2Session): void {
  session.setTimeout(IDLE_MS, () => session.close())
  let pings = 0
  let since = performance.now()
  session.on('ping', () => {
    if (performance.now() - since > PINGS_WITHIN_MS) {
      since = performance.now()
      pings = 0
    }
    if (++pings > MAX_PINGS) session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM)
  })
}
