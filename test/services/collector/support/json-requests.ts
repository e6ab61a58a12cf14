import fc from 'fast-check'
import { JSON_MESSAGES } from '../../../../services/collector/otlp/json-fields.ts'
import { anyCharacters } from '../../../support/any-characters.ts'

/**
 * Requests in OTLP's JSON encoding as no encoder writes them, though most are right: members in any
 * order and more than once, needless escapes, numbers in every form, values of the wrong kind.
 */

const SPACES = ['', '', '', '', ' ', '\n  ', '\t', '\r\n']
const space = fc.constantFrom(...SPACES)

/** Any UTF-16 code units: controls, quotes, halves of characters. */
const anyText = fc.oneof(
  anyCharacters(40),
  fc
    .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 6 })
    .map((codes) => String.fromCharCode(...codes)),
  fc.constantFrom('', 'a'.repeat(126), 'b'.repeat(127), 'c'.repeat(300), '"\\/\b\f\n\r\té€😀\0'),
  fc.constantFrom('d'.repeat(1024), 'e'.repeat(1025), '"\\\b\f\n\r\té€😀'.repeat(80)),
)
const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
/** A text in quotes, of whose UTF-16 code units any may be escaped though they need not be. */
const quoted = (text: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.tuple(text, fc.nat(12)).map(([value, every]) => {
    const json = JSON.stringify(value)
    if (every === 0) return `"${value.split('').map(escaped).join('')}"`
    return every === 1 ? json.replaceAll('/', '\\/').replaceAll('a', escaped('a')) : json
  })

const hex = (bytes: number): fc.Arbitrary<string> =>
  fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((id) => Buffer.from(id).toString('hex'))
const base64 = (max: number): fc.Arbitrary<string> =>
  fc
    .tuple(fc.uint8Array({ maxLength: max }), fc.boolean())
    .map(([bytes, isUrl]) => Buffer.from(bytes).toString(isUrl ? 'base64url' : 'base64'))
const idText = fc.oneof(
  { weight: 6, arbitrary: hex(16) },
  { weight: 6, arbitrary: hex(8) },
  hex(16).map((id) => id.toUpperCase()),
  hex(8).map((id) => `${id.slice(1)}g`),
  base64(17),
  anyText,
)

/** Where 32 and 64 bits, and the whole numbers of doubles, end. */
const EDGES = `
  0 1 7 2147483648 4294967295 4294967296 9007199254740993 9223372036854775807
  9223372036854775808 18446744073709551615 18446744073709551616
  99999999999999999999 999999999999999 9999999999999999 1795000000000000123`
  .trim()
  .split(/\s+/)
const digits = fc.oneof(
  fc.constantFrom(...EDGES, ...EDGES.map((edge) => `-${edge}`)),
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String),
  fc.nat(100).map(String),
)
const number = fc.oneof(
  digits,
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.tuple(fc.nat(99999), fc.nat(25)).map(([value, exponent]) => `${value}e${exponent}`),
  fc.tuple(fc.integer(), fc.nat(999999)).map(([whole, part]) => `${whole}.${part}`),
  fc.constantFrom('-0', '0.0', '1E+2', '1e400', '-1e308', '12e-1', '120e-1', '1.5', '1e-400'),
  fc.constantFrom('00', '-', '1.', '.5', '1e', '0000000000000000012', '-00000000000000001', '+1'),
)
const numberText = fc.oneof(
  digits,
  number,
  fc.constantFrom('', 'NaN', 'Infinity', '-Infinity', 'nan', ' 1', '1 ', '0x10', '1_0', '１'),
)

/** Any value of JSON. */
const { anyValue } = fc.letrec<{ anyValue: string }>((tie) => ({
  anyValue: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom('null', 'true', 'false', '{}', '[]', '""', '0', '{"a":[{}]}'),
    quoted(anyText),
    number,
    fc.array(tie('anyValue'), { maxLength: 3 }).map((items) => `[${items.join(', ')}]`),
    fc
      .array(fc.tuple(quoted(anyText), tie('anyValue')), { maxLength: 2 })
      .map((members) => `{${members.map((member) => member.join(' :')).join(',')}}`),
  ),
}))

const LEAVES: Readonly<Record<string, fc.Arbitrary<string>>> = {
  text: quoted(anyText),
  given_text: quoted(anyText),
  bytes: quoted(fc.oneof(base64(20), anyText)),
  id: quoted(idText),
  bool: fc.constantFrom('true', 'false'),
  uint32: fc.oneof(fc.nat(9).map(String), digits, quoted(numberText)),
  fixed32: fc.oneof(fc.nat(9).map(String), digits, quoted(numberText)),
  int64: fc.oneof(digits, number, quoted(digits), quoted(numberText)),
  time: fc.oneof(digits, quoted(digits), quoted(digits), quoted(numberText), number),
  enum: fc.oneof(fc.nat(5).map(String), number, quoted(fc.constantFrom('SPAN_KIND_SERVER', '1'))),
  double: fc.oneof(number, number, quoted(numberText)),
}

type Messages = Readonly<
  Record<string, Readonly<Record<string, { form: string; message?: string }>>>
>
const MESSAGES: Messages = JSON_MESSAGES

const OTHER_NAMES = ['', 'extra', 'trace_id', '__proto__', 'toString', 'x'.repeat(200), 'é', 'Key']

/** The messages of a request in JSON, right for the most part. */
const texts = fc.letrec<Record<string, string>>((tie) =>
  Object.fromEntries(
    Object.entries(MESSAGES).map(([message, fields]) => [
      message,
      objectOf(
        Object.entries(fields).map(([name, { form, message: held }]) => {
          const item = held === undefined ? undefined : tie(held)
          const list = item && fc.array(item, { maxLength: 3 }).map((items) => `[${items.join()}]`)
          const right = form === 'list' ? list : (LEAVES[form] ?? item)
          return { name, value: right ?? anyValue }
        }),
      ),
    ]),
  ),
)

interface Member {
  readonly name: string
  readonly value: fc.Arbitrary<string>
}

/** An object of these members, in any order, some of them more than once. */
function objectOf(members: readonly Member[]): fc.Arbitrary<string> {
  const member = fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom('"a": null', '"b":[]', '"c":"\\u0000"'),
    ...members.map(({ name, value }) => valueOf(fc.constant(name), value)),
    ...members.map(({ name, value }) => valueOf(fc.constant(name), value)),
    valueOf(fc.constantFrom(...OTHER_NAMES), anyValue),
  )
  return fc
    .tuple(fc.array(member, { maxLength: members.length + 1 }), space)
    .map(([given, gap]) => `{${gap}${given.join(`${gap},`)}${gap}}`)
}

function valueOf(name: fc.Arbitrary<string>, value: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc
    .tuple(
      quoted(name),
      space,
      fc.oneof(
        { weight: 60, arbitrary: value },
        { weight: 2, arbitrary: fc.constant('null') },
        { weight: 1, arbitrary: anyValue },
      ),
      space,
    )
    .map(([key, before, given, after]) => `${key}${before}:${after}${given}`)
}

/** A request that has spans at all, as few generated ones have. */
const request = fc
  .tuple(texts['resource'] ?? anyValue, fc.array(texts['span'] ?? anyValue, { maxLength: 3 }))
  .map(
    ([resource, spans]) =>
      `{"resourceSpans":[{"resource":${resource},"scopeSpans":[{"spans":[${spans.join()}]}]}]}`,
  )
const id = `"traceId":"${'ab'.repeat(16)}","spanId":"${'cd'.repeat(8)}","startTimeUnixNano":"17"`
/** Spans that are stored unless something is wrong with what the generator adds. */
const stored = fc
  .array(texts['span'] ?? anyValue, { minLength: 1, maxLength: 3 })
  .map((spans) => spans.map((span) => span.replace(/\}$/, `${span === '{}' ? '' : ','}${id}}`)))
  .map((spans) => `{"resourceSpans":[{"scopeSpans":[{"spans":[${spans.join()}]}]}]}`)

/** Texts of requests, and some of any JSON. */
export const jsonRequests: fc.Arbitrary<string> = fc.oneof(
  texts['request'] ?? anyValue,
  request,
  stored,
  anyValue,
)
