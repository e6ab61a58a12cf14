import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { openCrewAddress } from '../faults/runs/crew-address.ts'
import { startCountingModel } from '../faults/runs/counting-model.ts'
import { startServer } from '../faults/postgres-server.ts'
import { freePort } from '../support/free-port.ts'
import { load } from './load.ts'
import type { Called, Ledger } from './load.ts'
import { migrateBoth, runTask, startFleet, stopFleet } from './programs.ts'
import type { Fleet, Place } from './programs.ts'
import { buildFormer, buildThis } from './releases.ts'
import type { Release } from './releases.ts'

const ORGANIZATION = 'Acme'

interface UpgradeOptions {
  /** The commit or tag of the former release. */
  readonly from: string
  /** Runs in each of the phases. */
  readonly rounds: number
  readonly say: (text: string) => void
}

/** What became of all that was sent in the course of an upgrade that is taken back once. */
interface UpgradeReport {
  readonly from: string
  readonly runs: number
  readonly traces: number
  /** Runs that did not complete, or with another output than others of their topic. */
  readonly wrongRuns: readonly string[]
  /** Acknowledged traces, and runs without spans, that are not there or there twice. */
  readonly wrongTraces: readonly string[]
  readonly refusals: readonly string[]
  /** What programs said at the level `error`. */
  readonly complaints: readonly string[]
  readonly exitCodes: readonly (number | null)[]
  readonly isRight: boolean
}

/**
 * Upgrades an installation under load: the former release alone, then while the databases are
 * migrated, then beside this one, then alone again on the new schema, as after a rollback, and at
 * last this one alone.
 */
export async function runUpgrade({ from, rounds, say }: UpgradeOptions): Promise<UpgradeReport> {
  const directory = await mkdtemp(join(tmpdir(), 'upgrade-'))
  await chmod(directory, 0o755)
  const server = await startServer(directory, await freePort())
  const model = await startCountingModel(() => 20)
  const address = await openCrewAddress()
  const running = new Set<Fleet>()
  try {
    say(`bundling ${from} and this`)
    const former = await buildFormer(join(directory, 'programs'), from, say)
    const current = await buildThis(join(directory, 'programs'))
    const place = {
      platformUrl: await createDatabase(server.url, 'platform'),
      tracesUrl: await createDatabase(server.url, 'collector'),
      modelUrl: model.baseUrl,
      complaints: [],
    }
    const { called, runnerId } = await install(former, place, address.url)
    const begin = async (release: Release): Promise<Fleet> => {
      const fleet = await startFleet(release, place, runnerId)
      running.add(fleet)
      address.leadTo(fleet.crew.port)
      return fleet
    }
    const exitCodes: (number | null)[] = []
    const end = async (fleet: Fleet, other: Fleet): Promise<void> => {
      // Callers know it no longer, as when a Service has taken it out.
      running.delete(fleet)
      address.leadTo(other.crew.port)
      exitCodes.push(...(await stopFleet(fleet)))
    }
    const ledger = { runs: new Map(), traces: [], refusals: [], outputs: new Map() }
    const busy = (): Promise<void> => load(() => [...running], called, { ledger, rounds })

    const old = await begin(former)
    say('the former release alone')
    await busy()
    say('while the databases are migrated')
    await Promise.all([busy(), migrateBoth(current, place)])
    say('both')
    const first = await begin(current)
    await busy()
    say('taken back: the former release on the new schema')
    await Promise.all([end(first, old), busy()])
    say('both again, and then this release alone')
    const second = await begin(current)
    await Promise.all([busy(), end(old, second)])
    await busy()
    exitCodes.push(...(await stopFleet(second)))
    running.clear()
    const wrongTraces = await findWrongTraces(place.tracesUrl, ledger)
    return toReport({ from, ledger, place, exitCodes, wrongTraces })
  } finally {
    for (const { web, worker, collector, crew } of running) {
      for (const program of [web, worker, collector, crew]) program.kill()
    }
    address.close()
    await model.stop()
    await server.stop()
    await rm(directory, { recursive: true, force: true })
  }
}

async function createDatabase(serverUrl: string, name: string): Promise<string> {
  const sql = postgres(serverUrl, { max: 1, onnotice: () => {} })
  await sql.unsafe(`create database ${name}`)
  await sql.end()
  return serverUrl.replace(/\/postgres$/, `/${name}`)
}

/** Installs a release, with its sample automations on the Runner. */
async function install(release: Release, place: Place, crewUrl: string) {
  await migrateBoth(release, place)
  await runTask(release, place, ['setup'])
  await runTask(release, place, ['designer:runner:install', crewUrl])
  await runTask(release, place, ['organizations:create', ORGANIZATION])
  await runTask(release, place, ['seed', ORGANIZATION])
  const token = await runTask(release, place, ['tokens:create', ORGANIZATION, 'upgrade'])
  const sql = postgres(place.platformUrl, { max: 1, onnotice: () => {} })
  const [runner] = await sql`select automation_id from deployments where slug = 'runner'`
  const [sample] = await sql`
    select d.automation_id from deployments d join organizations o on o.id = d.organization_id
    where o.name = ${ORGANIZATION} order by d.id limit 1`
  await sql.end()
  const called: Called = {
    automationId: String(sample?.['automation_id']),
    token,
    inputs: ['topic'],
  }
  return { called, runnerId: String(runner?.['automation_id']) }
}

/** Acknowledged spans are there once, and the trace of each run has spans. */
async function findWrongTraces(url: string, { traces, runs }: Ledger): Promise<string[]> {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  const rows = await sql<{ trace: string; spans: number }[]>`
    select replace(trace_id::text, '-', '') as trace, count(*)::int as spans from spans group by 1`
  await sql.end()
  const counts = new Map(rows.map(({ trace, spans }) => [trace, spans]))
  const ofRun = (id: string): string => id.replaceAll('-', '')
  return [
    ...traces
      .filter((id) => counts.get(id) !== 1)
      .map((id) => `${id}: ${counts.get(id) ?? 0} spans`),
    ...[...runs.keys()].filter((id) => !counts.has(ofRun(id))).map((id) => `run ${id}: no spans`),
  ]
}

interface Findings {
  readonly from: string
  readonly ledger: Ledger
  readonly place: Place
  readonly exitCodes: readonly (number | null)[]
  readonly wrongTraces: readonly string[]
}

function toReport({ from, ledger, place, exitCodes, wrongTraces }: Findings): UpgradeReport {
  const { runs, traces, refusals, outputs } = ledger
  const expected = new Map<string, unknown>()
  const wrongRuns = [...runs].flatMap(([id, topic]) => {
    const output = outputs.get(id)
    if (output === undefined) return [`${id}: no output`]
    if (!expected.has(topic)) expected.set(topic, output)
    const isSame = JSON.stringify(expected.get(topic)) === JSON.stringify(output)
    return isSame ? [] : [`${id}: another output`]
  })
  const { complaints } = place
  const findings = [...wrongRuns, ...wrongTraces, ...refusals, ...complaints]
  const isRight = findings.length === 0 && exitCodes.every((code) => code === 0)
  const counts = { runs: runs.size, traces: traces.length }
  return { from, ...counts, wrongRuns, wrongTraces, refusals, complaints, exitCodes, isRight }
}
