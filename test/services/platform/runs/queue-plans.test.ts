import postgres from 'postgres'
import { describe, expect, it } from 'vitest'
import { completeRun, takeRuns } from '../../../../services/platform/runs/run-queue.ts'
import { kickoff } from '../../../../services/platform/runs/runs.ts'
import { arrayTypes } from '../../../../services/shared/postgres/arrays.ts'
import type { Database } from '../../../../services/shared/postgres/database.ts'
import { seedAutomation } from '../../../support/platform.ts'
import { useDatabase } from '../../../support/use-database.ts'

const AUTOMATIONS = 3000
const WAITING = 6000
/** Of one part of a plan: a take of ten reads ten of each, and their shares of ten turns. */
const ROWS_MAX = 100

const at = useDatabase()

/** They grow with what waits, and with the automations. */
const LARGE = new Set([
  'executions',
  'deployments',
  'crew_deployments',
  'queue_lines',
  'queue_organizations',
])

/** A part of a plan, as PostgreSQL explains it. */
interface Node {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly Node[]
}

interface Explained {
  readonly 'Query Text': string
  readonly Plan: Node
}

/** Fills the queue. */
async function fill(sql: Database): Promise<void> {
  await sql`insert into organizations (name) select 'Other ' || n from generate_series(1, 29) n`
  await sql`insert into projects (organization_id, name) select id, 'P' from organizations`
  await sql`
    insert into project_versions (project_id, organization_id, number, definition, published_at)
    select p.id, p.organization_id, 1, v.definition, now()
    from projects p, project_versions v where p.name = 'P'`
  await sql`
    insert into deployments (organization_id, project_version_id, name, slug, app_id, status, url)
    select v.organization_id, v.id, 'a' || n, 'a' || n || '-' || v.id, 'a' || n || '-' || v.id,
      d.status, d.url
    from deployments d, project_versions v join projects p on p.id = v.project_id and p.name = 'P',
      generate_series(1, ${AUTOMATIONS / 30}) n`
  await sql`update deployments set concurrency_max = 50 where id % 2 = 0`
}

const nodesOf = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)]

/** Opens a connection that keeps the plans of all statements, those of functions too. */
async function openExplaining() {
  const plans: Explained[] = []
  const sql = postgres(at.url, {
    max: 1,
    fetch_types: false,
    types: arrayTypes,
    transform: { column: { from: postgres.toCamel, to: postgres.fromCamel }, undefined: null },
    onnotice: ({ message = '' }) => {
      const json = /plan:\n(.*)$/s.exec(message)?.[1]
      if (json !== undefined) plans.push(JSON.parse(json))
    },
  })
  await sql`load 'auto_explain'`
  await sql`
    select set_config('auto_explain.' || name, value, false) from (values
      ('log_format', 'json'), ('log_level', 'notice'), ('log_nested_statements', 'on'),
      ('log_analyze', 'on'), ('log_min_duration', '0')) as settings (name, value)`
  return { sql, plans }
}

/** What a statement reads that it need not: whole tables, or more rows than it takes. */
function wasteOf({ Plan: plan, 'Query Text': text }: Explained): string[] {
  return nodesOf(plan).flatMap((node) => {
    const { 'Node Type': type, 'Relation Name': table = '' } = node
    const rows = node['Actual Rows'] * node['Actual Loops']
    const removed = (node['Rows Removed by Filter'] ?? 0) * node['Actual Loops']
    const isWhole = type === 'Seq Scan' && LARGE.has(table)
    const isMuch = rows > ROWS_MAX || removed > ROWS_MAX
    return isWhole || isMuch
      ? [`${type} of ${table}: ${rows} rows, ${removed} removed: ${text}`]
      : []
  })
}

/** All that happens to a run. */
async function takeAndEnd(sql: Database): Promise<void> {
  const [first] = await sql<[{ id: number }]>`select min(id) as id from deployments`
  await kickoff(sql, { deploymentId: first.id, inputs: {} })
  for (const limit of [1, 10]) {
    const runs = await takeRuns(sql, limit)
    expect(runs).toHaveLength(limit)
    for (const run of runs) {
      await completeRun(sql, run, { output: '', usage: { inputTokens: 0, outputTokens: 0 } })
    }
  }
}

describe('what the queue reads', () => {
  it.each(['nothing', 'something'])(
    'are a few rows by indexes, also in a worker that planned it when there was %s',
    async (what) => {
      await at.sql`delete from executions`
      const { sql, plans } = await openExplaining()
      await seedAutomation(sql, { organization: 'Acme', slug: 'first' })
      if (what === 'something') await at.sql`analyze`
      await at.sql`
        insert into executions (deployment_id, inputs) select min(id), '{}' from deployments`
      for (let looks = 0; looks < 2; looks += 1) await takeRuns(sql, 1)
      if (what === 'nothing') await fill(at.sql)
      await at.sql`
        insert into executions (deployment_id, inputs)
        select id, '{}' from deployments, generate_series(1, ${WAITING / AUTOMATIONS})`
      await at.sql`select settle_queue(3)`
      plans.length = 0
      await takeAndEnd(sql)
      await sql.end()
      expect(plans.length).toBeGreaterThan(50)
      expect(plans.flatMap(wasteOf)).toEqual([])
    },
  )
})
