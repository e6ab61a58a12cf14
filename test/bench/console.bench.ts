import { afterAll, bench, describe } from 'vitest'
import { signInAs } from '../services/web/support/every-route.ts'
import { pathsOf, seedSettings, startRuns } from '../services/web/support/console-states.ts'
import { openPlatform } from '../services/web/support/platform.ts'
import { fillConsole } from './console/fill.ts'
import { cpuOfFamily, parentOf } from './support/processes.ts'
import { median, toTable } from './support/statistics.ts'

const ROUNDS = 7

const platform = await openPlatform()
afterAll(() => platform.close())

/** Of each page of the console: how long an administrator waits for it, and how large it is. */
async function measurePages(): Promise<void> {
  const { sql, acme, app } = platform
  const runs = await startRuns(platform)
  const ids = await seedSettings(platform)
  await fillConsole(sql, acme)
  const { cookie } = await signInAs(platform, 'boss', 'platform-admin')
  const other = await platform.signIn(acme)
  const pages: [string, string, string][] = [
    ...pathsOf(platform, runs, ids).map(
      ([name, path]) => [name, path, other.cookie] satisfies [string, string, string],
    ),
    ...ADMINISTRATION.map((path) => [path, path, cookie] satisfies [string, string, string]),
  ]
  const [{ pid }] = await sql<[{ pid: number }]>`select pg_backend_pid() as pid`
  const postgres = parentOf(pid) ?? 0
  const rows: string[][] = []
  for (const [name, path, session] of pages) {
    const times: number[] = []
    let bytes = 0
    const before = { own: process.cpuUsage(), postgres: cpuOfFamily(postgres) }
    for (let round = 0; round < ROUNDS; round += 1) {
      const start = performance.now()
      const response = await app.request(path, { headers: { cookie: session } })
      bytes = (await response.arrayBuffer()).byteLength
      times.push(performance.now() - start)
    }
    const { user, system } = process.cpuUsage(before.own)
    const queryMs = ((cpuOfFamily(postgres) - before.postgres) * 1000) / ROUNDS
    const figures = [median(times), (user + system) / 1000 / ROUNDS, queryMs, bytes / 1000]
    rows.push([name, ...figures.map((each) => each.toFixed(0))])
  }
  const slowestFirst = rows.toSorted((a, b) => Number(b[1]) - Number(a[1]))
  console.log(toTable(['page', 'ms', 'web, cpu ms', 'PostgreSQL, cpu ms', 'kB'], slowestFirst))
}

/** The pages of platform administrators. */
const ADMINISTRATION = ['/admin/organizations', '/admin/users', '/admin/feature-flags']

await measurePages()

describe('the console', () => {
  bench('the dashboard', async () => {
    const { cookie } = await platform.signIn(platform.acme)
    await platform.app.request('/', { headers: { cookie } })
  })
})
