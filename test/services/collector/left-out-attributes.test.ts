import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  KEPT_COLUMNS,
  LEFT_OUT_KEYS,
} from '../../../services/collector/conventions/left-out-keys.ts'
import {
  selectArchived,
  toArchivedRow,
} from '../../../services/collector/store/archive/archived-columns.ts'
import { dayOf } from '../../../services/collector/store/spans/partitions.ts'
import { openCopyConnection } from '../../../services/shared/postgres/copy/copy-connection.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { anyCharacters } from '../../support/any-characters.ts'
import { citusUrl } from '../../support/citus.ts'
import { createHarness } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import { freshId, nanos, requestOf, spanOf, toProtobuf } from './support/otlp.ts'
import type { AnyValue, KeyValue, OtlpSpan } from './support/otlp.ts'
import { A, authorizationOf, tenantOf } from './support/tokens.ts'

/** Runs of the property; `FUZZ_RUNS=100` is the long form. */
const RUNS = Number(process.env['FUZZ_RUNS'] ?? 1)

/** U+0000 becomes U+FFFD wherever it stands. */
const text = fc.oneof(
  anyCharacters(12),
  fc.constantFrom('', 'chat', 'execute_tool', 'invoke_workflow', '12', '"', 'a\\', '\n', 'C:\\"x'),
  fc.integer({ min: 230, max: 600 }).map((size) => 'é'.repeat(size / 2)),
)
const scalar: fc.Arbitrary<AnyValue | undefined> = fc.oneof(
  { weight: 6, arbitrary: text.map((stringValue) => ({ stringValue })) },
  { weight: 3, arbitrary: fc.nat(5000).map((count) => ({ intValue: `${count}` })) },
  fc.constantFrom(-1n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 63n - 1n, -(2n ** 63n)).map((value) => ({
    intValue: `${value}`,
  })),
  fc.constantFrom(0.25, 3, 1e-7, 1e300).map((doubleValue) => ({ doubleValue })),
  fc.boolean().map((boolValue) => ({ boolValue })),
  fc.constant({ bytesValue: 'AQID' }),
  fc.constantFrom({}, undefined),
)
const value = fc.oneof(
  { weight: 8, arbitrary: scalar },
  fc
    .array(
      scalar.map((one) => one ?? {}),
      { maxLength: 3 },
    )
    .map((values) => ({
      arrayValue: { values },
    })),
  fc
    .uniqueArray(fc.record({ key: anyCharacters(6), value: scalar.map((one) => one ?? {}) }), {
      maxLength: 3,
      selector: ({ key }) => key.replaceAll('\0', '\ufffd'),
    })
    .map((values) => ({ kvlistValue: { values } })),
)
const key = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...LEFT_OUT_KEYS, 'gen_ai.operation.name') },
  { weight: 2, arbitrary: fc.constantFrom('attempt', '7', '10', 'cost', 'zzzzzzz', 'ключ') },
  anyCharacters(8),
)
/** With keys that come twice. */
const attributes = fc.array(fc.record({ key, value }), { maxLength: 10 })

const JSON_OF: readonly ((given: AnyValue) => string | false | undefined)[] = [
  ({ stringValue }) => stringValue !== undefined && JSON.stringify(toStored(stringValue)),
  ({ boolValue }) => boolValue !== undefined && String(boolValue),
  ({ intValue }) => intValue !== undefined && String(intValue),
  ({ doubleValue }) => doubleValue !== undefined && String(doubleValue).replace(/^3$/, '3.0'),
  ({ bytesValue }) => bytesValue !== undefined && `{"$b64":"${bytesValue}"}`,
  ({ arrayValue }) => arrayValue && `[${arrayValue.values.map(jsonOf).join()}]`,
  ({ kvlistValue }) => kvlistValue && objectOf(kvlistValue.values),
]

const toStored = (given: string): string => given.replaceAll('\0', '\ufffd')

function jsonOf(given: AnyValue = {}): string {
  const [json = 'null'] = JSON_OF.flatMap((read) => read(given) || [])
  return json
}

/** The last one of each key counts. */
const objectOf = (list: readonly KeyValue[]): string => {
  const last = new Map(list.map((one) => [toStored(one.key), one.value]))
  return `{${[...last].map(([name, one]) => `${JSON.stringify(name)}:${jsonOf(one)}`).join()}}`
}

const shortened = (given: string, characters: number): string =>
  Array.from(given).slice(0, characters).join('')

/** What may be looked for: parts of keys and values, and what stands between them. */
const needlesOf = (list: readonly KeyValue[]): string[] =>
  [
    ...list
      .slice(0, 2)
      .flatMap(({ key: name, value: one }) => [
        shortened(name, 5),
        shortened(String(one?.stringValue ?? one?.intValue ?? ''), 9),
      ]),
    '12',
    ': 1',
    ', ',
    '\\',
    '"',
    'usage',
    'e',
  ].filter((needle) => needle !== '' && !needle.includes('\0'))

describe.skipIf(citusUrl)('attributes that are in columns alone', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await createHarness()
  })
  afterAll(() => harness.stop())

  const mentionsOf = async (body: object): Promise<string> => {
    const authorization = await authorizationOf({ scopes: ['traces:read'], organization: A })
    const response = await fetch(`${harness.collector.url}/api/mentions`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return `${response.status} ${await response.text()}`
  }
  const archived = async (): Promise<unknown> => {
    const session = await openCopyConnection(parseAddress(harness.databaseUrl), { name: 'test' })
    try {
      const day = dayOf(Date.now())
      const rows = await session.rows(selectArchived({ day, organizations: [], isRest: true }))
      return rows.map(toArchivedRow)
    } finally {
      session.close()
    }
  }

  const from = new Date(Date.now() - 3_600_000).toISOString()
  /** All that is said of these spans, as text. */
  const answers = async (spans: readonly OtlpSpan[]): Promise<string[]> => {
    const paths = spans.flatMap(({ traceId = '', spanId = '', attributes: list = [] }) => [
      `/api/traces/${traceId}`,
      `/api/traces/${traceId}/spans/${spanId}`,
      ...needlesOf(list).map(
        (needle) => `/api/traces/${traceId}/search?q=${encodeURIComponent(needle)}`,
      ),
      ...list.slice(0, 2).map(({ key: name, value: one }) => {
        const wanted = one?.stringValue ?? one?.intValue ?? 'true'
        return `/api/traces?attribute=${encodeURIComponent(`${name}=${wanted}`)}`
      }),
    ])
    const texts: string[] = []
    for (const path of [...paths, `/api/export?from=${from}`]) {
      const { status, text: said } = await tenantOf(harness, A).ask(path)
      texts.push(`${path} ${status} ${said}`)
    }
    const patterns = spans.flatMap(({ attributes: list = [] }) =>
      list.slice(0, 1).map((one) => `%"${one.key}": %`),
    )
    const all = [
      ...texts,
      await mentionsOf({ patterns }),
      await mentionsOf({ attribute: { key: 'crew_id', value: '12' } }),
      JSON.stringify(await archived()),
    ]
    // Each refusal has one of its own.
    return all.map((text) => text.replace(/"request_id":"[^"]*"/, ''))
  }

  it('are read, searched, filtered, exported and archived as if they were not', async () => {
    const property = fc.asyncProperty(
      fc.array(attributes, { minLength: 4, maxLength: 4 }),
      async (lists) => {
        await harness.sql`delete from spans`
        const startTimeUnixNano = nanos(Date.now() - 1000)
        const spans = lists.map((list) =>
          spanOf({ traceId: freshId() + freshId(), startTimeUnixNano, attributes: list }),
        )
        expect(await tenantOf(harness, A).send(toProtobuf(requestOf(...spans)))).toBe(200)
        await harness.rolledUp()
        const before = await answers(spans)
        for (const { traceId = '', attributes: list = [] } of spans) {
          const whole = objectOf(list)
          const [row] = await harness.sql`
          with given as (
            select coalesce(jsonb_object_agg(key, value), '{}') as small
            from jsonb_each(${whole}::text::jsonb), live_spans
            where trace_id = ${traceId}::text::uuid
              and (payload is null or not payload::jsonb ? key)
          )
          select small::text as expected, coalesce(attributes, '{}')::text as shown,
            other_attributes::text as stored, left_out
          from live_spans, given where trace_id = ${traceId}::text::uuid`
          expect(row?.['shown']).toBe(row?.['expected'])
          await harness.sql`
          update spans set left_out = null,
            attributes = nullif(${row?.['expected']}::text, '{}')::jsonb
          where trace_id = ${traceId}::text::uuid`
        }
        expect(await answers(spans)).toEqual(before)
      },
    )
    await fc.assert(property, { numRuns: RUNS, endOnFailure: true })
  })

  it('are not stored a second time', async () => {
    const span = spanOf({
      attributes: [
        { key: 'crew_id', value: { stringValue: 'a "crew"' } },
        { key: 'gen_ai.usage.input_tokens', value: { intValue: '12' } },
        { key: 'gen_ai.usage.output_tokens', value: { stringValue: '13' } },
        { key: 'agent_role', value: { stringValue: 'Writer' } },
        { key: 'agent_name', value: { stringValue: 'second' } },
      ],
    })
    await harness.post(toProtobuf(requestOf(span)))
    const [row] = await harness.sql`
      select spans.attributes, spans.crew_id, spans.input_tokens, spans.output_tokens, spans.agent
      from spans where trace_id = ${span.traceId ?? ''}::uuid`
    expect(row).toEqual({
      attributes: { 'gen_ai.usage.output_tokens': '13', agent_name: 'second' },
      crewId: 'a "crew"',
      inputTokens: '12',
      outputTokens: '13',
      agent: 'Writer',
    })
  })

  it('are all of the conventions, but for what messages are read from', async () => {
    const spans = LEFT_OUT_KEYS.map((name) =>
      spanOf({
        attributes: [
          { key: name, value: name.includes('oken') ? { intValue: '5' } : { stringValue: 'x' } },
        ],
      }),
    )
    await harness.post(toProtobuf(requestOf(...spans)))
    for (const [nr, { traceId = '' }] of spans.entries()) {
      const name = LEFT_OUT_KEYS[nr] ?? ''
      const [row] = await harness.sql`
        select attributes, other_attributes, num_nonnulls(${harness.sql(KEPT_COLUMNS)}) as columns
        from live_spans where trace_id = ${traceId}::text::uuid`
      expect(row, name).toEqual({
        attributes: { [name]: name.includes('oken') ? 5 : 'x' },
        otherAttributes: null,
        columns: 1,
      })
    }
  })
})
