import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listTraces, readListQuery } from '../../../services/collector/read/lists/trace-list.ts'
import { openReaders } from '../../../services/collector/read/reader.ts'
import type { Readers } from '../../../services/collector/read/reader.ts'
import {
  createSignatures,
  fold,
  soughtHashes,
} from '../../../services/collector/store/search/signature.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { authorizationOf } from './support/tokens.ts'
import { createHarness, silent } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import { nanos, requestOf, spanOf, textAttribute, toProtobuf } from './support/otlp.ts'
import type { KeyValue } from './support/otlp.ts'

const numRuns = Number(process.env['FUZZ_RUNS'] ?? 15)
const ORGANIZATIONS = ['a', 'b'] as const
const CALLS = 240
const SEED = 20_261_127

/** Few letters, so that texts have much in common: with several forms, or escaped by JSON. */
const LETTERS = Array.from('aAbBcCiIkKsSİıſẞßÄäéÉΣσςжЖ日本😀🦓\u212a \n\t"\\/%_-.{}[]:,0123')
const letter = fc.constantFrom(...LETTERS)
const words = fc.array(letter, { maxLength: 40 }).map((letters) => letters.join(''))

/** As a plain reader would compare: letter by letter, each in its one small form. */
const inSmall = (text: string): string =>
  Array.from(text, (each) => Array.from(each.toLowerCase())[0] ?? '').join('')

/** As Python writes it: all beyond ASCII is escaped. */
const inAscii = (value: unknown): string =>
  JSON.stringify(value).replace(
    /[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

interface Call {
  readonly question: string
  readonly answer: string
  readonly form: 'plain' | 'json' | 'ascii' | 'tool'
}

const call: fc.Arbitrary<Call> = fc.record({
  question: words,
  answer: words,
  form: fc.constantFrom('plain', 'json', 'ascii', 'tool'),
})

function attributesOf({ question, answer, form }: Call): KeyValue[] {
  const operation = textAttribute(
    'gen_ai.operation.name',
    form === 'tool' ? 'execute_tool' : 'chat',
  )
  if (form === 'tool') {
    const given = JSON.stringify({ question, answer })
    return [operation, textAttribute('gen_ai.tool.call.arguments', given)]
  }
  if (form === 'plain') {
    return [
      operation,
      textAttribute('input.value', `: ${question}`),
      textAttribute('output.value', `: ${answer}`),
    ]
  }
  const write = form === 'json' ? JSON.stringify : inAscii
  const message = (role: string, content: string) => write([{ role, content: `: ${content}` }])
  return [
    operation,
    textAttribute('gen_ai.input.messages', message('user', question)),
    textAttribute('gen_ai.output.messages', message('assistant', answer)),
  ]
}

const textOf = ({ question, answer, form }: Call): string =>
  form === 'tool' ? JSON.stringify({ question, answer }) : `: ${question}\n: ${answer}`

interface Stored extends Call {
  readonly traceId: string
  readonly organization: string
}

describe('the search in random texts', () => {
  let harness: Harness
  let readers: Readers
  let stored: readonly Stored[]

  beforeAll(async () => {
    harness = await createHarness()
    readers = openReaders(parseAddress(harness.databaseUrl), { log: silent })
    const calls = fc.sample(call, { numRuns: CALLS, seed: SEED })
    const spans = calls.map((each, nr) => {
      const start = nanos(Date.now() - 3_600_000 - nr * 1000)
      return spanOf({ startTimeUnixNano: start, attributes: attributesOf(each) })
    })
    for (const [place, organization] of ORGANIZATIONS.entries()) {
      const own = spans.filter((_, nr) => nr % ORGANIZATIONS.length === place)
      const headers = { authorization: await authorizationOf({ organization }) }
      expect((await harness.post(toProtobuf(requestOf(...own)), headers)).status).toBe(200)
    }
    stored = calls.map((each, nr) => ({
      ...each,
      traceId: spans[nr]?.traceId ?? '',
      organization: ORGANIZATIONS[nr % ORGANIZATIONS.length] ?? '',
    }))
    await harness.rolledUp()
    await harness.extracted()
  }, 120_000)
  afterAll(async () => {
    await readers.close()
    await harness.stop()
  })

  /** Part of a text, in other letters now and then, or any. */
  const needle = fc
    .oneof(
      {
        weight: 4,
        arbitrary: fc.tuple(fc.nat(CALLS - 1), fc.nat(80), fc.integer({ min: 3, max: 12 })),
      },
      { weight: 1, arbitrary: words },
    )
    .chain((given) => {
      const text = typeof given === 'string' ? given : partOf(given)
      return fc.constantFrom(text, text.toUpperCase(), text.toLowerCase())
    })
    .map((text) => text.replace(/\p{Surrogate}/gu, ''))

  function partOf([nr, from, length]: readonly [number, number, number]): string {
    const found = stored[nr]
    return found
      ? Array.from(textOf(found))
          .slice(from, from + length)
          .join('')
      : ''
  }

  it('finds what a plain scan finds, newest first, page by page, within its limits', async () => {
    const one = fc.asyncProperty(
      needle.filter((text) => /[\p{L}\p{N}]{3}/u.test(text)),
      fc.constantFrom(...ORGANIZATIONS, undefined),
      fc.tuple(fc.constantFrom(1, 7, 50), fc.constantFrom(3, 10_000)),
      async (text, organization, [limit, named]) => {
        const sought = inSmall(text)
        const expected = stored
          .filter((each) => organization === undefined || each.organization === organization)
          .filter((each) => inSmall(textOf(each)).includes(sought))
          .map(({ traceId }) => traceId)
        expect(await listAll({ text, organization, limit, named })).toEqual(expected)
      },
    )
    await fc.assert(one, { numRuns, seed: SEED })
  }, 600_000)

  interface Question {
    readonly text: string
    readonly organization: string | undefined
    readonly limit: number
    readonly named: number
  }

  async function listAll({ text, organization, limit, named }: Question): Promise<string[]> {
    const found: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const parameters = new URLSearchParams({ text, limit: `${limit}` })
      if (cursor !== '') parameters.set('cursor', cursor)
      const page = await listTraces(readers.for(organization), readListQuery(parameters), {
        traces: 1000,
        lookUps: 1000,
        named,
        budgetMs: 60_000,
      })
      found.push(...page.traces.map(({ trace_id: id }) => id))
      expect(page.traces.every(({ match }) => match !== undefined)).toBe(true)
      cursor = page.next_cursor
    }
    return found
  }
})

/** The same as the module computes for many letters at a time. */
function plainSignature(texts: readonly string[]): Buffer {
  const C = [0x9e3779b1, 0x85ebca6b, 0xc2b2ae35, 0x27d4eb2f] as const
  const mix = (hash: number): number => {
    const mixed = Math.imul(hash ^ (hash >>> 13), C[2])
    return (mixed ^ (mixed >>> 16)) & 8191
  }
  const hashesOf = (text: string): Set<number> => {
    const hashes = new Set<number>()
    for (let at = 0; at + 3 <= text.length; at++) {
      const [third = 0, second = 0, first = 0] = [0, 1, 2].map((nr) => text.charCodeAt(at + nr))
      const two = Math.imul(third, C[0]) ^ second
      const three = Math.imul(two ^ (two >>> 15), C[1]) ^ first
      hashes.add(mix(three))
      if (at > 0) hashes.add(mix(Math.imul(three, C[3]) ^ ~text.charCodeAt(at - 1)))
    }
    return hashes
  }
  const all = texts.map((text) => hashesOf(fold(text)))
  const filled = all.filter(({ size }) => size > 0).length
  const hashes = all.reduce((sum, { size }) => sum + size, 0)
  let rows = 64
  while (rows < 8192 && rows < (hashes / Math.max(filled, 1)) * 1.5) rows *= 2
  const width = Math.ceil(texts.length / 8)
  const bits = Buffer.alloc(rows * width)
  for (const [place, own] of all.entries()) {
    for (const hash of own) {
      const at = (hash & (rows - 1)) * width + (place >> 3)
      bits[at] = (bits[at] ?? 0) | (0x80 >> (place & 7))
    }
  }
  return bits
}

describe('a signature', () => {
  const signatureOf = createSignatures()

  it('is the same as one of single letters and bits, whatever was signed before', () => {
    const text = fc.oneof(words, fc.string({ unit: 'binary', maxLength: 60 }), fc.lorem())
    const texts = fc
      .tuple(fc.array(text, { minLength: 1, maxLength: 70 }), fc.integer({ min: 1, max: 40 }))
      .map(([all, times]) => all.map((each, nr) => (nr % 7 === 0 ? each.repeat(times) : each)))
    const property = fc.property(texts, (all) => {
      expect(signatureOf(all).equals(plainSignature(all))).toBe(true)
    })
    fc.assert(property, { numRuns })
  })

  it('has a bit of each text in every row of what the text contains', () => {
    const texts = fc.array(words, { minLength: 1, maxLength: 140 })
    const property = fc.property(texts, fc.nat(), fc.nat(30), (all, nr, from) => {
      const place = nr % all.length
      const sought = fold(all[place] ?? '').slice(from, from + 9)
      const width = Math.ceil(all.length / 8)
      const signature = signatureOf(all)
      const rows = signature.length / width
      expect(Number.isInteger(Math.log2(rows))).toBe(true)
      for (const hash of soughtHashes(sought)) {
        const byte = signature[(hash & (rows - 1)) * width + (place >> 3)] ?? 0
        expect(byte & (0x80 >> (place & 7))).not.toBe(0)
      }
    })
    fc.assert(property, { numRuns: Math.max(numRuns, 200) })
  })

  it('stays as stored ones are, whatever makes it', () => {
    const letter = (nr: number, at: number): string =>
      String.fromCodePoint(97 + ((at * at * 7 + nr * 13 + (at % (nr + 3))) % 26))
    const texts = Array.from({ length: 200 }, (_, nr) => {
      const letters = Array.from({ length: nr * 9 }, (__, at) => letter(nr, at)).join('')
      return nr % 3 === 0 ? `${letters} ÄÖÜ İΣ 漢字 😀` : letters
    })
    expect(createHash('sha256').update(signatureOf(texts)).digest('hex')).toBe(
      '514037202d95e6cd2b31a559d94c58f71f82e4fe9aef1431c4d46478b31f3f99',
    )
  })

  it('says of few texts that they may have a word which none of them has', () => {
    const random = fc.sample(fc.stringMatching(/^[a-z ]{900,1100}$/), { numRuns: 64, seed: SEED })
    const signature = signatureOf(random)
    const rows = signature.length / 8
    let bits = 0
    for (const byte of signature) bits += byte.toString(2).replaceAll('0', '').length
    expect(bits / (rows * 64)).toBeLessThan(0.5)
    expect(signature.length / 64).toBeLessThanOrEqual(512)
  })
})
