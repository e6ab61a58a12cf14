import assert from 'node:assert/strict'
import { words } from '../bed/words.ts'
import { apply, helm, kubectl, upgrade } from './cluster.ts'
import { freshNamespace } from './installation.ts'
import { backUpNow, keysOf, prepareBackups, runAsBackup } from './jobs.ts'
import { isWell, makeCaller, query, runToEnd } from './platform.ts'
import { crewsOf } from './step.ts'
import type { Step } from './step.ts'
import { underLoad, underRuns } from './under-load.ts'

const PLACE = 'platform-large'
const ROWS = 300_000
const PART = 50_000

/** Migrations of a release to come, which do what those of a release may do to large tables. */
const PLANTED = {
  planted_index: `create index run_steps_planted
    on run_steps (md5(coalesce(result::text, '')), run_id, position);`,
  planted_check: `set local lock_timeout = '2s';
    alter table executions add constraint executions_planted_check
      check (output is null or length(repeat(output, 20)) >= 0) not valid;`,
  planted_validation: `alter table executions validate constraint executions_planted_check;`,
  planted_names: `-- changes rows of run_steps: names are told from those before
    update run_steps set name = name || ' of before' where step_key = 'planted';`,
  planted_sums: `create table planted_sums as
    select date_trunc('hour', queued_at) as hour, md5(coalesce(output, '')) as answer,
      count(*) as runs, max(finished_at) as finished_at
    from executions group by 1, 2;`,
} as const

/** Rows as a backup brings them, where no trigger looks at each. */
const copiesFrom = (from: number): string => `
  set session_replication_role = replica;
  with runs as (
    insert into executions (deployment_id, inputs, status, attempt, queued_at, started_at,
        finished_at, output, usage, organization_id, project_version_id, trigger)
      select deployment_id, inputs, status, attempt, queued_at - n * interval '1 second',
        started_at - n * interval '1 second', finished_at - n * interval '1 second',
        output || n, usage, organization_id, project_version_id, trigger
      from (select * from executions where status = 'completed' order by id limit 1) as run,
        generate_series(${from}, ${from + PART - 1}) as n
      returning id)
  insert into run_steps (run_id, step_key, position, kind, name, path, state, attempt,
      started_at, ended_at, result)
    select id, 'planted', 0, kind, name, path, state, attempt, started_at, ended_at, result
    from (select * from run_steps where state = 'finished' limit 1) as step, runs`

/** Makes as many runs and steps as a large installation has. */
async function fill(): Promise<void> {
  for (let from = 1; from < ROWS; from += PART) await query(PLACE, 'platform', copiesFrom(from))
  await query(PLACE, 'platform', 'analyze')
}

/** Puts the planted migrations behind those that the database has; returns their names. */
async function plant(): Promise<readonly string[]> {
  const known = Number(await query(PLACE, 'platform', 'select max(version) from schema_migrations'))
  const files = Object.entries(PLANTED).map(([name, sql], index) => [
    `${String(known + 1 + index).padStart(4, '0')}_${name}.sql`,
    `${sql}\n`,
  ])
  const metadata = { name: 'planted', namespace: PLACE }
  const data = Object.fromEntries(files)
  await apply(JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data }))
  return Object.keys(data)
}

/** Runs a task of this release with the planted migrations among its own; returns its lines. */
async function withPlanted(
  files: readonly string[],
  args: readonly string[],
): Promise<readonly string[]> {
  const name = args[0]?.replace(':', '-') ?? ''
  const { succeeded, printed } = await runAsBackup(PLACE, name, (container, pod) => {
    pod.volumes.push({ name: 'planted', configMap: { name: 'planted' } })
    for (const subPath of files) {
      const mountPath = `/app/build/platform/migrations/${subPath}`
      container.volumeMounts.push({ name: 'planted', mountPath, subPath })
    }
    container.args = args
    container.env.push(...keysOf(['SECRET_KEY_BASE', 'OAUTH_ENCRYPTION_KEY']))
  })
  assert(succeeded, printed)
  return printed.trim().split('\n')
}

interface Verdict {
  readonly verdict: string
  readonly databases: readonly {
    readonly name: string
    readonly rehearsal: { readonly migrations: readonly Took[] } | null
  }[]
}

interface Took {
  readonly name: string
  readonly ms: number
}

async function predict(files: readonly string[]): Promise<readonly Took[]> {
  const lines = await withPlanted(files, words`upgrade:prove --json --only main`)
  const { verdict } = JSON.parse(lines.at(-1) ?? '') as { verdict: Verdict }
  assert.equal(verdict.verdict, 'proven', lines.join('\n'))
  return verdict.databases[0]?.rehearsal?.migrations ?? []
}

async function migrate(files: readonly string[]): Promise<readonly Took[]> {
  const lines = await withPlanted(files, ['migrate'])
  return lines
    .filter((line) => line.includes('"migration applied"'))
    .map((line) => JSON.parse(line) as Took)
}

/** What is said of a migration that takes long enough to be told from the noise of the machine. */
const LONG_MS = 1000
const TOLERANCE = 0.3

function compare(told: readonly Took[], taken: readonly Took[]): string {
  const pairs = told.map(({ name, ms }) => ({
    name,
    told: ms,
    taken: taken.find((each) => each.name === name)?.ms ?? Number.NaN,
  }))
  const facts = pairs.map((each) => `${each.name} ${each.told} ms told and ${each.taken} taken`)
  const fact = facts.join(', ')
  const long = pairs.filter((each) => each.taken > LONG_MS)
  assert(long.length >= 2, `too few migrations took a second: ${fact}`)
  for (const each of long)
    assert(Math.abs(each.told - each.taken) <= TOLERANCE * each.taken, `${each.name}: ${fact}`)
  return fact
}

export const predictions: readonly Step[] = [
  {
    name: 'predictions',
    sentence:
      'on large tables under load, migrations take the time that their rehearsal told, give or ' +
      'take 30 %, and no request, run or span is lost meanwhile',
    async run() {
      await freshNamespace(PLACE)
      await upgrade(PLACE, await prepareBackups(PLACE))
      await isWell(PLACE)
      const caller = await makeCaller(PLACE)
      await runToEnd(caller)
      await fill()
      await backUpNow(PLACE)
      const files = await plant()
      let found = ''
      const load = await underRuns(caller, () =>
        underLoad(PLACE, async () => {
          found = compare(await predict(files), await migrate(files))
        }),
      )
      await helm(words`uninstall platform -n ${PLACE} --wait --timeout 10m`)
      await kubectl(words`delete namespace ${PLACE} ${crewsOf(PLACE)} --ignore-not-found --wait`)
      return `${found}; ${load}`
    },
  },
]
