import { readFileSync } from 'node:fs'
import { lengthField, nanos, span, textAttribute } from '../../services/collector/support/otlp.ts'
import type { KeyValue, OtlpSpan } from '../../services/collector/support/otlp.ts'

/** What senders send: calls of models with their prompts, or the short spans around them. */
export type Profile = 'llm' | 'light'

/** A request whose ids can be replaced, so that each copy holds new spans. */
export interface RequestTemplate {
  readonly body: Buffer
  readonly spans: number
  /** Where the trace ids of 16 bytes lie. */
  readonly traceIds: readonly number[]
}

/** The same spans with other trace ids. */
export function freshCopy({ body, traceIds }: RequestTemplate, salt: number): Buffer {
  const copy = Buffer.from(body)
  for (const at of traceIds) copy.writeUInt32LE((copy.readUInt32LE(at) ^ salt) >>> 0, at)
  return copy
}

/** Numbers in [0, 1) that are the same in every run. */
export function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

type Random = () => number

const root = new URL('../../../', import.meta.url)
/** Real prose, so that it compresses and escapes as prompts do. */
const PROSE = ['README.md', 'ARCHITECTURE.md', 'AGENTS.md']
  .map((name) => readFileSync(new URL(name, root), 'utf8'))
  .join('\n')

function prose(random: Random, from: number, to: number): string {
  // Most prompts are short and some are long.
  const size = Math.floor(from * (to / from) ** random())
  const start = Math.floor(random() * (PROSE.length - size))
  return PROSE.slice(start, start + size)
}

const hex = (random: Random, bytes: number): string =>
  Array.from({ length: bytes / 4 }, () =>
    Math.floor(random() * 2 ** 32)
      .toString(16)
      .padStart(8, '0'),
  ).join('')

const count = (key: string, value: number): KeyValue => ({ key, value: { intValue: `${value}` } })
const pick = (random: Random, ...texts: string[]): string =>
  texts[Math.floor(random() * texts.length)] ?? ''

interface Batch {
  readonly spans: number
  readonly seed: number
  /** Around when the spans start; milliseconds since 1970. */
  readonly nowMs: number
}

/** Spans as OTLP's JSON has them. */
export function createSpans(profile: Profile, { spans, seed, nowMs }: Batch): OtlpSpan[] {
  const random = createRandom(seed)
  const make = profile === 'llm' ? llmSpan : lightSpan
  let traceId = ''
  return Array.from({ length: spans }, (_, i) => {
    if (i % 8 === 0) traceId = hex(random, 16)
    return { traceId, ...make(random, nowMs - 5000 + i * 9 + random() * 20) }
  })
}

/** One request in protobuf. */
export const createRequest = (profile: Profile, batch: Batch): RequestTemplate =>
  assemble(createSpans(profile, batch).map((one) => lengthField(2, span(one))))

function assemble(encoded: readonly Buffer[]): RequestTemplate {
  const scope = lengthField(1, lengthField(1, Buffer.from('crew.telemetry')))
  const resource = lengthField(1, lengthField(1, keyValueOf('service.name', 'crew')))
  const scopeSpans = lengthField(2, Buffer.concat([scope, ...encoded]))
  const body = lengthField(1, Buffer.concat([resource, scopeSpans]))
  const traceIds: number[] = []
  let at = body.length - encoded.reduce((sum, { length }) => sum + length, 0)
  for (const one of encoded) {
    // The trace id is a span's first field: its tag and length come before it.
    traceIds.push(at + one.indexOf('\x0a\x10', 1, 'latin1') + 2)
    at += one.length
  }
  return { body, spans: encoded.length, traceIds }
}

const keyValueOf = (key: string, value: string): Buffer =>
  Buffer.concat([
    lengthField(1, Buffer.from(key)),
    lengthField(2, lengthField(1, Buffer.from(value))),
  ])

function base(random: Random, startMs: number): OtlpSpan {
  return {
    spanId: hex(random, 8),
    parentSpanId: hex(random, 8),
    kind: 1,
    startTimeUnixNano: nanos(startMs),
    endTimeUnixNano: nanos(startMs + random() * 4000),
    status: { code: random() < 0.03 ? 2 : 1 },
  }
}

function lightSpan(random: Random, startMs: number): OtlpSpan {
  const attributes = [
    textAttribute('crew_id', hex(random, 16)),
    textAttribute('task_name', pick(random, 'research', 'write', 'review')),
    textAttribute('agent_role', pick(random, 'Researcher', 'Writer', 'Editor')),
    textAttribute('tool_name', pick(random, 'search', 'fetch', 'calculator')),
    count('attempt', Math.floor(random() * 3)),
    textAttribute('cache', pick(random, 'hit', 'miss')),
  ]
  return { ...base(random, startMs), name: pick(random, 'tool', 'task', 'step'), attributes }
}

function llmSpan(random: Random, startMs: number): OtlpSpan {
  const given = 2 + Math.floor(random() * 9)
  const attributes = [
    textAttribute('gen_ai.operation.name', 'chat'),
    textAttribute('gen_ai.provider.name', 'openai'),
    textAttribute('gen_ai.request.model', pick(random, 'gpt-4o', 'gpt-4o-mini', 'o3')),
    count('gen_ai.usage.input_tokens', Math.floor(random() * 4000)),
    count('gen_ai.usage.output_tokens', Math.floor(random() * 900)),
    textAttribute('crew_id', hex(random, 16)),
    textAttribute('agent_role', pick(random, 'Researcher', 'Writer', 'Editor')),
    textAttribute('gen_ai.prompt.0.content', prose(random, 200, 4096)),
    textAttribute('gen_ai.completion.0.content', prose(random, 200, 4096)),
    ...Array.from({ length: given }, (_, i) => textAttribute(`llm.option.${i}`, hex(random, 8))),
  ]
  const event = { name: 'gen_ai.choice', timeUnixNano: nanos(startMs), attributes: [] }
  const events =
    random() < 0.2
      ? [{ ...event, attributes: [textAttribute('message', prose(random, 100, 400))] }]
      : []
  return { ...base(random, startMs), name: 'chat', attributes, events }
}
