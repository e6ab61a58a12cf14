import { createMemory } from '../../../services/collector/otlp/memory.ts'
import type { Memory } from '../../../services/collector/otlp/memory.ts'
import type { Encoding } from '../../../services/collector/otlp/answer.ts'
import { createJsonRewriter } from '../../../services/collector/otlp/json-request.ts'
import { createRowBuffer, truncateRows } from '../../../services/collector/otlp/row-buffer.ts'
import { createTranscoder } from '../../../services/collector/otlp/transcode.ts'
import { takeCopy } from '../../services/collector/support/memory.ts'
import { requestOf, toJson, toProtobuf } from '../../services/collector/support/otlp.ts'
import { createSpans } from '../support/requests.ts'
import type { Profile } from '../support/requests.ts'
import { median, toTable } from '../support/statistics.ts'

const ROUNDS = 21
const WARM_UP_ROUNDS = 4
const SPANS = 512
/** Requests a turn, so that a turn takes some milliseconds. */
const REQUESTS: Readonly<Record<Profile, number>> = { llm: 4, light: 16 }
/** More than the rows of a request take. */
const ROWS_BYTES = 8 << 20
const ALWAYS = { oldest: -(2 ** 53), newest: 2 ** 53 }

/** Measures what a span costs from the body of its request to its row, by encoding. */
export function compareEncodings(): void {
  for (const profile of ['llm', 'light'] as const) measure(profile)
}

function measure(profile: Profile): void {
  const memory = createMemory(64 << 20)
  const contenders = Object.entries(contendersOf(profile, memory))
  const micros = new Map<string, number[]>(contenders.map(([name]) => [name, []]))
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round++) {
    for (const [name, transcode] of contenders) {
      const before = process.cpuUsage()
      for (let request = 0; request < REQUESTS[profile]; request++) transcode()
      const { user, system } = process.cpuUsage(before)
      if (round >= WARM_UP_ROUNDS) {
        micros.get(name)?.push((user + system) / REQUESTS[profile] / SPANS)
      }
    }
  }
  const protobuf = median(micros.get('protobuf') ?? [])
  const rows = [...micros].map(([name, values]) => [
    name,
    median(values).toFixed(2),
    (median(values) / protobuf).toFixed(2),
  ])
  process.stdout.write(`\n${toTable([profile, 'CPU µs a span', 'x protobuf'], rows)}\n`)
}

function contendersOf(profile: Profile, memory: Memory): Record<string, () => void> {
  const spans = createSpans(profile, { spans: SPANS, seed: 1, nowMs: Date.now() })
  const transcode = createTranscoder(memory)
  // In a memory of its own: the transcoder has one in this.
  const apart = createMemory(32 << 20)
  const rewriteJson = createJsonRewriter(apart, { pointsIntoBody: true })
  const protobuf = takeCopy(memory, toProtobuf(requestOf(...spans)))
  const json = takeCopy(memory, toJson(requestOf(...spans)))
  const jsonApart = takeCopy(apart, json)
  const rows = createRowBuffer(takeCopy(memory, Buffer.alloc(ROWS_BYTES)), memory)
  const toRows = (body: Buffer, encoding: Encoding): void => {
    transcode(body, rows, { ...ALWAYS, encoding })
    truncateRows(rows, 0, 0)
  }
  return {
    protobuf: () => toRows(protobuf, 'protobuf'),
    JSON: () => toRows(json, 'json'),
    'JSON to protobuf alone': () => apart.give(rewriteJson(jsonApart)),
  }
}
