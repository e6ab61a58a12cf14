import { openRaw } from './raw.ts'
import type { RawConnection } from './raw.ts'

/** Frames of HTTP/2 by hand, for what no client library sends (RFC 9113). */

export const TYPES = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, continuation: 9 }
export const FLAGS = { endStream: 1, endHeaders: 4 }
const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'

interface Frame {
  readonly type: number
  readonly flags?: number
  readonly stream?: number
  readonly payload?: Buffer
}

export function frame({ type, flags = 0, stream = 0, payload = Buffer.alloc(0) }: Frame): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** A length of HPACK, whose prefix has seven bits. */
function lengthOf(bytes: Buffer): Buffer {
  if (bytes.length < 127) return Buffer.from([bytes.length])
  const rest: number[] = [127]
  let left = bytes.length - 127
  for (; left >= 128; left >>= 7) rest.push((left & 127) | 128)
  return Buffer.from([...rest, left])
}

const text = (value: string): Buffer => {
  const bytes = Buffer.from(value)
  return Buffer.concat([lengthOf(bytes), bytes])
}

/** Headers as literals without an index. */
export const headerBlock = (headers: readonly (readonly [string, string])[]): Buffer =>
  Buffer.concat(headers.flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]))

/** A connection that has sent its preface and empty settings. */
export async function openHttp2(url: string): Promise<RawConnection> {
  const raw = await openRaw(url)
  raw.write(PREFACE)
  raw.write(frame({ type: TYPES.settings }))
  return raw
}
