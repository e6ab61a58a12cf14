import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createMemory, lend } from '../../../services/collector/otlp/memory.ts'
import { createJsonRewriter } from '../../../services/collector/otlp/json-request.ts'
import { createRowBuffer, releaseRows } from '../../../services/collector/otlp/row-buffer.ts'
import { createTranscoder } from '../../../services/collector/otlp/transcode.ts'
import type { Transcode } from '../../../services/collector/otlp/transcode.ts'
import { AppError } from '../../../services/shared/errors.ts'
import { jsonRequestToProtobuf } from './oracle/json/json-request.ts'
import { jsonRequests } from './support/json-requests.ts'
import { takeCopy } from './support/memory.ts'
import { requestOf, spanOf, toJson } from './support/otlp.ts'

/** `FUZZ_RUNS=100000 npx vitest run test/services/collector/json.test.ts` is the long form. */
const RUNS = Number(process.env['FUZZ_RUNS'] ?? 100)
const ALWAYS = { oldest: -(2 ** 53), newest: 2 ** 53 }
const JSON_ALWAYS = { ...ALWAYS, encoding: 'json' } as const

const memory = createMemory(16 << 20)
const transcode = createTranscoder(memory)
const byOracle: Transcode = (body, rows) =>
  lend(memory, takeCopy(memory, jsonRequestToProtobuf(body)), (protobuf) =>
    transcode(protobuf, rows, ALWAYS),
  )

const GUARD_BYTES = 64
const UNTOUCHED = 0xa5

/** The rows that a body becomes, the identities they refer to, and what was refused. */
function outcome(read: Transcode, body: Buffer) {
  const given = takeCopy(memory, body)
  const rows = createRowBuffer(takeCopy(memory, Buffer.alloc(64)), memory)
  try {
    const transcript = read(given, rows, JSON_ALWAYS)
    const identities = [...rows.identities].map(({ id, document }) => `${id} ${document}`)
    return { transcript, identities, rows: rows.bytes.toString('latin1', 0, rows.end) }
  } catch (error) {
    return String(error)
  } finally {
    memory.give(given)
    releaseRows(rows)
  }
}

function expectAsByOracle(body: Buffer): void {
  const expected = outcome(byOracle, body)
  expect(outcome(transcode, body)).toEqual(expected)
  expect(memory.used()).toBe(0)
}

const SYNTAX = Buffer.from('"\\{}[],:0u')
/** Bytes that are changed, and where the body ends. */
const damages = fc.record({
  changes: fc.array(fc.tuple(fc.nat(), fc.oneof(fc.nat(255), fc.constantFrom(...SYNTAX))), {
    maxLength: 3,
  }),
  end: fc.oneof(fc.nat(), fc.constant(undefined)),
})

function damage(text: string, changes: readonly [number, number][], end?: number): Buffer {
  const body = Buffer.from(text)
  for (const [at, byte] of changes) if (body.length > 0) body[at % body.length] = byte
  return end === undefined ? body : body.subarray(0, end % (body.length + 1))
}

const attribute = (key: string, value: string): string => `{"key":"${key}","value":${value}}`
const withMembers = (members: string): Buffer => {
  const id = `"traceId":"${'ab'.repeat(16)}","spanId":"${'cd'.repeat(8)}","startTimeUnixNano":"17"`
  return Buffer.from(`{"resourceSpans":[{"scopeSpans":[{"spans":[{${id},${members}}]}]}]}`)
}
const withAttribute = (value: string, key = 'a'): Buffer =>
  withMembers(`"attributes":[${attribute(key, value)}]`)
const nested = (depth: number, inner: string): string => {
  const levels = Array.from({ length: depth }, (_, i) => i % 2 === 0)
  return levels.reduceRight(
    (value, isList) =>
      isList
        ? `{"arrayValue":{"values":[${value}]}}`
        : `{"kvlistValue":{"values":[${attribute('k', value)}]}}`,
    inner,
  )
}

describe('the rewriter of OTLP in JSON', () => {
  it('reads and refuses what the oracle reads and refuses, in the same words', () => {
    fc.assert(
      fc.property(jsonRequests, (text) => expectAsByOracle(Buffer.from(text))),
      { numRuns: RUNS },
    )
  }, 3_600_000)

  it('does so when bytes of the body are changed, or it is cut off', () => {
    fc.assert(
      fc.property(jsonRequests, damages, (text, { changes, end }) =>
        expectAsByOracle(damage(text, changes, end)),
      ),
      { numRuns: RUNS },
    )
  }, 3_600_000)

  it('keeps texts of every length', () => {
    const sizes = [0, 1, 14, 15, 16, 17, 47, 48, 49, 63, 64, 65, 125, 126, 127, 128, 129]
    for (const size of [...sizes, 16_381, 16_384, 300_000]) {
      for (const end of ['', '\\n', '\\u20ac', '€']) {
        const text = `${'x'.repeat(size)}${end}`
        expectAsByOracle(withAttribute(`{"stringValue":"${text}"}`))
        expectAsByOracle(withAttribute(`{"stringValue":"${end}"}`, text))
        expectAsByOracle(withMembers(`"name":"${text}"`))
      }
    }
  })

  it('reads codes of any form', () => {
    for (const code of [0, 1, 2, 3, 9, 10, -1, '"1"', '"STATUS_CODE_ERROR"', null]) {
      for (const end of ['', ' ', ',"message":"m"']) {
        expectAsByOracle(withMembers(`"status":{"code":${code}${end}}`))
      }
    }
  })

  it.each([31, 32, 33, 34, 35, 60])('reads values that nest %i deep', (depth) => {
    for (const inner of ['{"intValue":1}', '{"intValue":[]}', 'null', '{"arrayValue":3}', '7']) {
      expectAsByOracle(withAttribute(nested(depth, inner)))
    }
  })

  it.each([
    ['unknown members that nest as deep as they like', '['.repeat(1e5) + ']'.repeat(1e5)],
    ['nor when their brackets do not match', '['.repeat(1e5) + '}'.repeat(1e5)],
    ['nor when they do not end', '[{"a":'.repeat(1e5)],
  ])('is not confused by %s', (_, value) => {
    expectAsByOracle(Buffer.from(`{"resourceSpans":[],"other":${value}}`))
  })

  it.each([
    '',
    ' ',
    '\ufeff{}',
    '{}\u00a0',
    '{} {}',
    '{"a":1,}',
    "{'a':1}",
    '{a:1}',
    '{"a":01}',
    'nul',
  ])('takes %j for what the oracle takes it', (text) => expectAsByOracle(Buffer.from(text)))

  it('refuses numbers as names, even long ones', () => {
    const body = Buffer.from('{"a":1,1234567890123456:1}')
    expect(outcome(transcode, body)).toBe('AppError: The body is not valid JSON.')
  })

  it('writes nothing beyond the room that it has asked for, wherever that moves', () => {
    const whole = createMemory(4 << 20)
    const lent: Buffer[] = []
    const guarded = {
      ...whole,
      take(bytes: number) {
        const taken = whole.take(bytes + GUARD_BYTES)?.fill(UNTOUCHED)
        if (taken) lent.push(taken)
        return taken?.subarray(0, bytes)
      },
      give: () => {},
      trim: (buffer: Buffer) => buffer,
    }
    const rewrite = createJsonRewriter(guarded)
    fc.assert(
      fc.property(jsonRequests, fc.boolean(), (text, isBroken) => {
        const given = takeCopy(whole, Buffer.from(isBroken ? `${text}\xff` : text, 'latin1'))
        try {
          rewrite(given)
        } catch (error) {
          expect(error).toBeInstanceOf(AppError)
        }
        const beyond = lent.map((one) => one.subarray(-GUARD_BYTES))
        expect(beyond.every((end) => end.every((byte) => byte === UNTOUCHED))).toBe(true)
        for (const held of [given, ...lent.splice(0)]) whole.give(held)
      }),
    )
  })

  it('raises `unavailable` when the memory does not reach, and keeps nothing', () => {
    const small = createMemory(4096)
    const rewrite = createJsonRewriter(small)
    const body = takeCopy(small, withAttribute(`{"stringValue":"${'x'.repeat(3000)}"}`))
    expect(() => rewrite(body)).toThrow(expect.objectContaining({ code: 'unavailable' }))
    small.give(body)
    expect(small.used()).toBe(0)
  })

  it('reads only what lies in its memory', () => {
    const foreign = toJson(requestOf(spanOf()))
    const rows = createRowBuffer(Buffer.alloc(0), memory)
    expect(() => transcode(foreign, rows, JSON_ALWAYS)).toThrow('in the memory of the rewriter')
  })
})
