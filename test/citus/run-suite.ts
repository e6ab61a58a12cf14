import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const TESTS = 'test/services/collector'
/** The database of such a file is on Citus. */
const USES_CITUS = /\b(createHarness|cloneCitusDatabase)\(/
/** A statement takes several times as long as on a plain server. */
const FILES_AT_A_TIME = 2

/** What no run on Citus tests, and why. */
export const LEFT_OUT = `Left out on Citus:
  - row-level security of readers: there is none, as no role reaches the other nodes. That the
    answers of the read API are apart is tested ("organizations").
  - the look for rows that are stored already: repeated rows are merged without it.
  - that a leader dies while it deletes expired spans: distributed tables have no triggers. It dies
    before and after that.
  - that commits look at erasures only while there are some: on Citus each of them does.
  - servers that stop, start and lose connections ("outage"), memory under load ("memory-ceiling"),
    upgrades of the schema ("schema"): these tests make plain servers and databases of their own.
    The kills stop the nodes of Citus.
`

/** Runs the tests of the collector that use a trace database; returns whether they pass. */
export async function runSuite(citusUrl: string): Promise<boolean> {
  const all = readdirSync(TESTS, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join(TESTS, name))
  const files = all.filter((file) => USES_CITUS.test(readFileSync(file, 'utf8')))
  process.stderr.write(
    `${files.length} files of tests on Citus; the other ${all.length - files.length} of the ` +
      'collector use no trace database, or one of their own\n',
  )
  const args = ['vitest', 'run', `--maxWorkers=${FILES_AT_A_TIME}`, ...files]
  const child = spawn('npx', args, {
    env: { ...process.env, CITUS_DATABASE_URL: citusUrl },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const [code] = await once(child, 'exit')
  return code === 0
}
