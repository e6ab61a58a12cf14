import postgres from 'postgres'
import { describe, expect, it } from 'vitest'
import { listConnectionsForModels } from '../../../../services/platform/connections/llm-connections.ts'
import { insertRuns } from '../../../../services/platform/runs/insert-runs.ts'
import { encodeEntries } from '../../../../services/platform/runs/journal-entries.ts'
import type { JournalEntries } from '../../../../services/platform/runs/journal-entries.ts'
import { recordTogether } from '../../../../services/platform/runs/record-progress.ts'
import { completeRun, renewLease, takeRuns } from '../../../../services/platform/runs/run-queue.ts'
import { loadJournal } from '../../../../services/platform/runs/run-steps.ts'
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

/** They grow with what waits and what was done, and with the automations. */
const TABLES = 'executions|deployments|crew_deployments|queue_lines|queue_organizations'
const LARGE = new RegExp(`^(${TABLES}|(execution_events|run_\\w+)_\\d+)$`)

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

/** As a worker has them for what runs report. */
const LOOKUPS = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
}

/** Opens a connection that keeps the plans of all statements, those of functions too. */
async function openExplaining(connection: Readonly<Record<string, string>> = {}) {
  const plans: Explained[] = []
  const sql = postgres(at.url, {
    max: 1,
    connection,
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
    const isWhole = type === 'Seq Scan' && LARGE.test(table)
    const isMuch = rows > ROWS_MAX || removed > ROWS_MAX
    return isWhole || isMuch
      ? [`${type} of ${table}: ${rows} rows, ${removed} removed: ${text}`]
      : []
  })
}

const RESULT = { output: '', usage: { inputTokens: 0, outputTokens: 0 } }
const at0 = '2026-01-01T00:00:00.000Z'

/** All that a run reports at the end, and what came before. */
const reports: readonly JournalEntries[] = (['started', 'finished'] as const).map(
  (state, position) => ({
    events: [{ position, event: { type: 'noted' } }],
    steps: [
      {
        key: 'a',
        kind: 'tool',
        name: 'a',
        path: ['a'],
        state,
        startedAt: at0,
        ...(state === 'finished' ? { endedAt: at0, result: '' } : {}),
      },
    ],
    completion: state === 'finished' ? RESULT : undefined,
  }),
)

/** All that happens to a run. */
async function takeAndEnd(sql: Database, journal: Database): Promise<void> {
  const [first] = await sql<[{ id: number }]>`select min(id) as id from deployments`
  await kickoff(sql, { deploymentId: first.id, inputs: {} })
  const rest = { versionId: null, idempotencyKey: null }
  const by = { trigger: 'api', starterId: null, starterName: null }
  const another = { deploymentId: first.id, inputs: '{}', ...rest, ...by }
  await insertRuns(
    sql,
    Array.from({ length: 10 }, () => another),
  )
  for (const limit of [1, 10]) {
    const runs = await takeRuns(sql, limit)
    expect(runs).toHaveLength(limit)
    await listConnectionsForModels(sql, runs[0]?.organizationId ?? 0)
    await loadJournal(sql, runs[0]?.id ?? '')
    for (const entries of reports.map(encodeEntries)) {
      const written = runs.slice(1).map((lease) => ({ lease, entries }))
      const states = await recordTogether(journal, written)
      expect(states.every(({ state }) => state === 'written')).toBe(true)
    }
    for (const run of runs.slice(0, 1)) {
      await renewLease(sql, run)
      await completeRun(sql, run, RESULT)
    }
  }
}

describe('what the queue reads', () => {
  it.each(['nothing', 'something'])(
    'are a few rows by indexes, also in a worker that planned it when there was %s',
    async (what) => {
      await at.sql`delete from executions`
      const { sql, plans } = await openExplaining()
      const journal = await openExplaining(LOOKUPS)
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
      await takeAndEnd(sql, journal.sql)
      await Promise.all([sql.end(), journal.sql.end()])
      expect(plans.length).toBeGreaterThan(50)
      expect(journal.plans.length).toBeGreaterThan(50)
      expect([...plans, ...journal.plans].flatMap(wasteOf)).toEqual([])
    },
  )
})
