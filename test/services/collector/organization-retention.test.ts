import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readConfig } from '../../../services/collector/env.ts'
import { citusUrl } from '../../support/citus.ts'
import { expireOnce, EXPIRY } from './support/expiry.ts'
import { clockAt, createHarness, SECRET } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import { freshId, nanos, requestOf, spanOf, textAttribute, toProtobuf } from './support/otlp.ts'
import type { OtlpSpan, ResourceSpans } from './support/otlp.ts'
import { readRollUps, recomputeRollUps } from './support/roll-up-oracle.ts'
import { A, authorizationOf, B, tenantOf } from './support/tokens.ts'

const DAY_MS = 86_400_000
const NAME = 'COLLECTOR_ORGANIZATION_RETENTION_DAYS'

const configOf = (days: string) =>
  readConfig({ COLLECTOR_JWT_SECRET: SECRET, RETENTION_WEEKS: '2', [NAME]: days })

describe('the retention of an organization', () => {
  it('is read as days by organization, with "" for the platform itself', () => {
    const { [NAME]: days } = configOf('{"acme":"14","":3}')
    expect([...(days ?? [])]).toEqual([
      ['acme', 14],
      ['', 3],
    ])
    expect(configOf('')[NAME]).toBeUndefined()
  })

  it('is refused where it is longer than that of all', () => {
    expect(() => configOf('{"acme":"15","other":14}')).toThrow(
      /cannot keep spans of an organization for longer than RETENTION_WEEKS.*14 days.*"acme":15/,
    )
  })

  it.each(['acme=3', '[]', '{"acme":0}', '{"acme":"-1"}', '{"acme":1.5}', '{"a\\u0000":1}'])(
    'is refused in words that are no days by organization: %s',
    (days) => {
      expect(() => configOf(days)).toThrow(`${NAME} must be a JSON object of days`)
    },
  )
})

describe('expired spans of an organization', () => {
  const sentAt = Date.now() - 10 * DAY_MS
  let now = sentAt
  const clock = clockAt(() => now)
  let harness: Harness
  beforeAll(async () => {
    const env = { RETENTION_WEEKS: '3', [NAME]: JSON.stringify({ [A]: 2, '': 5 }) }
    harness = await createHarness(env, { now: () => now, clock })
  })
  afterAll(() => harness.stop())

  /** A model call of 5 ms. */
  const at = (ms: number, given: OtlpSpan = {}): OtlpSpan =>
    spanOf({
      startTimeUnixNano: nanos(ms),
      endTimeUnixNano: nanos(ms + 5),
      attributes: [
        textAttribute('gen_ai.operation.name', 'chat'),
        textAttribute('input.value', 'what is an okapi'),
      ],
      ...given,
    })
  const send = async (organization: string | undefined, ...spans: OtlpSpan[]): Promise<void> => {
    await tenantOf(harness, organization).send(toProtobuf(requestOf(...spans)))
  }
  const stored = async (organization: string, table = 'spans'): Promise<number> => {
    const rows = await harness.sql`
      select from ${harness.sql(table)} where organization = ${organization}`
    return rows.length
  }
  const signed = async (organization: string): Promise<number | undefined> => {
    const [row] = await harness.sql<{ texts: number }[]>`
      select sum(texts)::int as texts from text_signatures where organization = ${organization}`
    return row?.texts
  }
  const expire = (days: Readonly<Record<string, number>>) =>
    expireOnce(harness.databaseUrl, { days, clock })
  const isExact = async (): Promise<void> => {
    await harness.rolledUp()
    expect(await readRollUps(harness.sql)).toEqual(await recomputeRollUps(harness.sql))
  }

  it('go, with all that was made of them, and those of others stay', async () => {
    const traceId = freshId() + freshId()
    const both = [at(sentAt - DAY_MS, { traceId }), at(sentAt + DAY_MS / 2, { traceId })]
    for (const organization of [A, B, undefined]) {
      await send(organization, ...both, at(sentAt - DAY_MS), at(sentAt - 1000))
    }
    await harness.rolledUp()
    await harness.extracted()
    now = sentAt + 2 * DAY_MS
    expect(await expire({ [A]: 2 })).toEqual({ spans: 3, heldBack: 0 })
    expect([await stored(A), await stored(B), await stored('')]).toEqual([1, 4, 4])
    await isExact()
    await harness.extracted()
    expect([await signed(A), await signed(B)]).toEqual([1, 4])
    expect([await stored(A, 'traces'), await stored(B, 'traces')]).toEqual([1, 3])
    expect(await expire({ [A]: 2 })).toEqual({ spans: 0, heldBack: 0 })
    now = sentAt + 6 * DAY_MS
    expect(await expire({ [A]: 2, '': 5 })).toEqual({ spans: 5, heldBack: 0 })
    expect([await stored(A), await stored(B), await stored('')]).toEqual([0, 4, 0])
    expect([await stored(A, 'resources'), await stored(B, 'resources')]).toEqual([0, 1])
    await isExact()
  }, 180_000)

  it('are refused when they come late, as those that have expired for all', async () => {
    const late = now - 3 * DAY_MS
    const post = async (organization: string | undefined, body: Buffer): Promise<unknown> => {
      const authorization = await authorizationOf({ organization })
      return (await harness.post(body, { authorization })).text()
    }
    const request = toProtobuf(requestOf(at(late)))
    expect(await post(A, request)).toContain('Spans were rejected: 1 too_old.')
    expect(await post(B, request)).toBe('')
    expect(await post(undefined, request)).toBe('')
    // The platform's own tokens may send for others: each resource has its own.
    const of = (organization: string): ResourceSpans => ({
      resource: { attributes: [textAttribute('organization_id', organization)] },
      scopeSpans: [{ spans: [at(late)] }],
    })
    const mixed = toProtobuf({ resourceSpans: [of(A), of(B), of(A), of('another')] })
    expect(await post(undefined, mixed)).toContain('Spans were rejected: 2 too_old.')
    expect([await stored(A), await stored('another')]).toEqual([0, 1])
  })

  it.each([
    'before delete on span_texts',
    // Distributed tables have no triggers.
    ...(citusUrl === undefined ? ['before delete on spans', 'after delete on spans'] : []),
    'before insert on touched_traces',
    'after insert on touched_traces',
  ])(
    'are deleted once when their leader is killed %s',
    async (moment) => {
      const organization = `killed-${freshId()}`
      await send(organization, at(now - 5 * DAY_MS), at(now - 4 * DAY_MS), at(now))
      await harness.rolledUp()
      await harness.sql.unsafe(`
      create or replace function die() returns trigger language plpgsql as $$
      begin
        if current_setting('application_name') = '${EXPIRY}' then
          perform pg_terminate_backend(pg_backend_pid());
        end if;
        return null;
      end
      $$`)
      await harness.sql.unsafe(
        `create trigger die ${moment} for each statement execute function die()`,
      )
      await expect(expire({ [organization]: 2 })).rejects.toThrow()
      expect(await stored(organization)).toBe(3)
      await harness.sql.unsafe(`drop trigger die on ${moment.replace(/.* on /, '')}`)
      // Two replicas at the same time.
      const turns = await Promise.all([
        expire({ [organization]: 2 }),
        expire({ [organization]: 2 }),
      ])
      if (turns[0].spans === 0 || turns[1].spans === 0) await expire({ [organization]: 2 })
      expect(await stored(organization)).toBe(1)
      await isExact()
    },
    180_000,
  )

  it('go in several transactions when one trace has very many', async () => {
    const organization = `large-${freshId()}`
    const traceId = freshId() + freshId()
    const start = now - 5 * DAY_MS
    const spans = Array.from({ length: 5200 }, (_, i) => spanOf({ ...at(start + i), traceId }))
    await send(organization, ...spans, at(now, { traceId }))
    await harness.rolledUp()
    expect(await expire({ [organization]: 2 })).toEqual({ spans: 5200, heldBack: 0 })
    expect(await stored(organization)).toBe(1)
    await isExact()
  })

  it('are kept for an hour after the announcement when many days expire at once', async () => {
    const organization = `many-${freshId()}`
    const days = Array.from({ length: 9 }, (_, day) => at(now - (day + 3) * DAY_MS))
    await send(organization, ...days)
    await harness.rolledUp()
    expect(await expire({ [organization]: 2 })).toEqual({ spans: 0, heldBack: 9 })
    expect(await stored(organization)).toBe(9)
  })

  it('are looked for by each collector from its start on', async () => {
    await send(undefined, at(now - 4 * DAY_MS, { name: 'the last' }))
    await harness.rolledUp()
    now += 3 * DAY_MS
    const other = await harness.another()
    await expect.poll(() => stored('')).toBe(0)
    await other.stop()
  })
})
