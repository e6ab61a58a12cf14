/** Reads the protobuf answers of the collector, without its own code. */

interface Field {
  readonly number: number
  readonly value: bigint | Buffer
}

export function decodeFields(bytes: Buffer): Field[] {
  const fields: Field[] = []
  let at = 0
  const varint = (): bigint => {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes.readUInt8(at++)
      value |= BigInt(byte & 127) << shift
      if (byte < 128) return value
    }
  }
  while (at < bytes.length) {
    const tag = Number(varint())
    if ((tag & 7) === 0) fields.push({ number: tag >> 3, value: varint() })
    else {
      const size = Number(varint())
      fields.push({ number: tag >> 3, value: bytes.subarray(at, at + size) })
      at += size
    }
  }
  return fields
}

interface StatusBody {
  readonly code: number
  readonly message: string
  readonly details: number
}

/** A google.rpc.Status. */
export function decodeStatus(bytes: ArrayBuffer): StatusBody {
  const fields = decodeFields(Buffer.from(bytes))
  const find = (number: number) => fields.find((field) => field.number === number)?.value
  return {
    code: Number(find(1) ?? 0),
    message: String(find(2) ?? ''),
    details: fields.filter(({ number }) => number === 3).length,
  }
}

/** The partial_success of an ExportTraceServiceResponse; undefined when it is unset. */
export function decodePartialSuccess(
  bytes: ArrayBuffer,
): { rejected: number; message: string } | undefined {
  const [partial] = decodeFields(Buffer.from(bytes))
  if (!partial) return undefined
  const fields = decodeFields(partial.value as Buffer)
  return {
    rejected: Number(fields.find(({ number }) => number === 1)?.value ?? 0),
    message: String(fields.find(({ number }) => number === 2)?.value ?? ''),
  }
}
