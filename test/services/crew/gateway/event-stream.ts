import { crc32 } from 'node:zlib'

/** An event in the binary stream of Amazon (application/vnd.amazon.eventstream). */
export function toAmazonEvent(type: string, payload: unknown): Buffer {
  const headers = Buffer.concat(
    Object.entries({
      ':event-type': type,
      ':content-type': 'application/json',
      ':message-type': 'event',
    }).map(([name, value]) => toHeader(name, value)),
  )
  const body = Buffer.from(JSON.stringify(payload))
  const prelude = Buffer.alloc(8)
  prelude.writeUInt32BE(16 + headers.length + body.length, 0)
  prelude.writeUInt32BE(headers.length, 4)
  const message = Buffer.concat([prelude, checksum(prelude), headers, body])
  return Buffer.concat([message, checksum(message)])
}

/** A header whose value is a text: 7. */
function toHeader(name: string, value: string): Buffer {
  const size = Buffer.alloc(2)
  size.writeUInt16BE(value.length)
  return Buffer.concat([
    Buffer.from([name.length]),
    Buffer.from(name),
    Buffer.from([7]),
    size,
    Buffer.from(value),
  ])
}

function checksum(bytes: Buffer): Buffer {
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(crc32(bytes))
  return sum
}
