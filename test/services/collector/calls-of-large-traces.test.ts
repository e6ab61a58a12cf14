import { afterAll, beforeAll, expect, it } from 'vitest'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import type { Database } from '../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { createDatabase } from '../../support/postgres.ts'
import type { TestDatabase } from '../../support/postgres.ts'

/** Of calls within calls, as deep as their number allows. */
const TRACE = `
  select array_agg(n::int8) as ids, array_agg(case when n > 1 then (n / 2)::int8 end) as parents,
    array_agg(now() + n * interval '24 ms') as starts, array_agg(12345678::int8) as durations,
    array_agg('call'::text) as roles, array_agg('1200 340 gpt-5-mini'::text) as usages,
    array_agg('gpt-5-mini'::text) as models, array_agg('1 chat'::text) as sources,
    array_agg(null::text) as response_ids
  from generate_series(1, 2000) n`

let database: TestDatabase
let sql: Database
beforeAll(async () => {
  database = await createDatabase('collector')
  sql = connectDatabase(parseAddress(database.url), { name: 'test', max: 1 })
})
afterAll(async () => {
  await sql.end()
  await database.drop()
})

it('looks at each call of a large trace once, not at all of them for each', async () => {
  await sql`set work_mem = '32MB'`
  await sql.unsafe(`create temp table trace as ${TRACE}`)
  const [rule] = await sql<{ body: string }[]>`
    select prosrc as body from pg_proc where proname = 'uncounted_calls'`
  const body = rule?.body.replace('from unnest(', 'from trace, lateral unnest(') ?? ''
  const plan = await sql.unsafe<{ 'QUERY PLAN': string }[]>(`explain ${body}`)
  const text = plan.map((row) => row['QUERY PLAN']).join('\n')
  expect(text).toContain('Recursive Union')
  expect(text).not.toMatch(/(?<!hashed )SubPlan \d+\)?\.col/)
})
