import { createMemory } from '../../../../../services/collector/otlp/memory.ts'
import { createRowBuffer, releaseRows } from '../../../../../services/collector/otlp/row-buffer.ts'
import { createTranscoder } from '../../../../../services/collector/otlp/transcode.ts'
import { createRedaction } from '../../../../../services/collector/otlp/redaction/redaction.ts'
import type { RedactionOptions } from '../../../../../services/collector/otlp/redaction/redaction.ts'
import { takeCopy } from '../../support/memory.ts'
import { requestOf, spanOf, toProtobuf } from '../../support/otlp.ts'

const ALWAYS = { oldest: -(2 ** 53), newest: 2 ** 53 }
/** Ends the name, so that its end is known in the row. */
const STOP = '\u0001STOP'

/** A function that returns what a span's name becomes. */
export function createRedactor(options: RedactionOptions): (text: string) => string {
  const memory = createMemory(16 << 20)
  const transcode = createTranscoder(memory, createRedaction(options))
  return (text) => {
    const body = takeCopy(memory, toProtobuf(requestOf(spanOf({ name: text + STOP }))))
    const rows = createRowBuffer(takeCopy(memory, Buffer.alloc(64)), memory)
    transcode(body, rows, ALWAYS)
    const row = rows.bytes.subarray(0, rows.end)
    const end = row.indexOf(STOP)
    for (let from = end - 4; from >= 0; from--) {
      if (row.readUInt32BE(from) !== end + STOP.length - from - 4) continue
      const name = row.toString('utf8', from + 4, end)
      releaseRows(rows)
      memory.give(body)
      return name
    }
    throw new Error('the row has no name')
  }
}
