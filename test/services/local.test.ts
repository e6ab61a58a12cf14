import { spawn } from 'node:child_process'
import type { ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Summary } from '../../services/local/summary.ts'
import { connectDatabase } from '../../services/shared/postgres/database.ts'
import { parseAddress } from '../../services/shared/postgres/address.ts'
import { freePortBase } from '../support/free-port.ts'
import { localPlatformPath } from '../support/program.ts'
import { until } from '../support/until.ts'
import { walkAsFirstTimeUser } from './local/first-walk.ts'
import { isLong } from '../support/long.ts'

const root = new URL('../..', import.meta.url).pathname
let directory: string
let portBase: number

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'local-'))
  await chmod(directory, 0o755)
  portBase = await freePortBase()
})

afterAll(() => rm(directory, { recursive: true, force: true }))

type Child = ChildProcessByStdio<null, Readable, Readable>

function launch(...more: string[]): Child {
  const args = [localPlatformPath(), '--data', directory, '--port-base', String(portBase), ...more]
  const { OPENAI_API_KEY: _key, OPENAI_BASE_URL: _url, ...env } = process.env
  return spawn(process.execPath, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] })
}

interface Platform {
  readonly child: Child
  readonly summary: Summary
  /** What the terminal has shown. */
  readonly terminal: () => string
}

async function startPlatform(): Promise<Platform> {
  const child = launch('--json')
  let errors = ''
  child.stderr.on('data', (chunk) => (errors += chunk))
  for await (const line of createInterface(child.stdout))
    return { child, summary: JSON.parse(line), terminal: () => errors }
  throw new Error(`it ended before it was ready: ${errors}`)
}

const readLog = () => readFile(join(directory, 'platform.log'), 'utf8')
const readPid = async () =>
  Number((await readFile(join(directory, 'postgres/postmaster.pid'), 'utf8')).split('\n')[0])

async function stop(child: Child): Promise<number | null> {
  child.kill('SIGTERM')
  if (child.exitCode === null) await once(child, 'exit')
  return child.exitCode
}

async function failure(child: Child): Promise<string> {
  let errors = ''
  child.stderr.on('data', (chunk) => (errors += chunk))
  const [code] = await once(child, 'close')
  expect(code).toBe(1)
  return errors
}

const apiOf = ({ web_url, api_prefix, automation_id }: Summary) =>
  `${web_url}/${api_prefix}/api/v1/crew/${automation_id}`

describe('npm start', () => {
  it(
    'runs a crew from the API to its trace, keeps the data, and tells clearly what is in its way',
    { timeout: 180_000 },
    async () => {
      const { child, summary, terminal } = await startPlatform()
      expect(summary).toMatchObject({
        api_prefix: 'platform',
        admin_email: 'admin@example.com',
      })
      expect(await (await fetch(`${summary.web_url}/health`)).json()).toEqual({ status: 'ok' })
      expect(await (await fetch(`${summary.collector_url}/health`)).json()).toMatchObject({
        status: 'ok',
      })

      expect(await (await fetch(`${summary.oauth_url}/health`)).json()).toEqual({ status: 'ok' })

      await expectInternalCrews(summary)

      await expectHealthy(summary)

      const kickoffId = await runCrew(summary)
      await expectTrace(summary, kickoffId)
      if (isLong) await walkAsFirstTimeUser(summary)

      const logged = await readLog()
      if (isLong) await expectOneCopy()

      await expectRecovery(summary, terminal)
      expect(await stop(child)).toBe(0)
      expect(terminal()).toMatch(/Stopping …\nStopped\.\n$/)

      const second = await startPlatform()
      expect(second.summary).toEqual(summary)
      const headers = { authorization: `Bearer ${summary.static_token}` }
      const status = await fetch(`${apiOf(summary)}/status/${kickoffId}`, { headers })
      expect(await status.json()).toMatchObject({ status: 'completed' })
      expect(await readLog()).toContain(logged)
      expect(await stop(second.child)).toBe(0)

      const other = createServer().listen(portBase, '127.0.0.1')
      await once(other, 'listening')
      expect(await failure(launch())).toContain(
        `Port ${portBase} on 127.0.0.1 is in use by another program`,
      )
      other.close()
    },
  )
})

/** A second copy on the same data says so, and leaves the log alone. */
async function expectOneCopy(): Promise<void> {
  const logged = await readLog()
  const port = String(await freePortBase())
  expect(await failure(launch('--port-base', port))).toContain('another server runs on')
  expect(await readLog()).toContain(logged)
}

/** Whoever kills PostgreSQL is told, and it comes back. */
async function expectRecovery(summary: Summary, terminal: () => string): Promise<void> {
  process.kill(await readPid(), 'SIGKILL')
  await expect.poll(terminal).toContain('PostgreSQL runs again')
  expect(terminal()).toContain('PostgreSQL has stopped')
  await until(async () => (await fetch(`${summary.web_url}/health`)).status === 200)
  await runCrew(summary)
}

/** The Assistant and the Runner are where their records say (SPEC 2.3). */
async function expectInternalCrews({ database_url }: Summary): Promise<void> {
  const sql = connectDatabase(parseAddress(database_url), { name: 'test', max: 1 })
  const crews = await sql<{ slug: string; url: string }[]>`
    select slug, url from deployments d join organizations o on o.id = d.organization_id
    where o.internal and status = 'Crew is Online' order by slug`
  await sql.end()
  expect(crews.map(({ slug }) => slug)).toEqual(['assistant', 'runner'])
  for (const { url } of crews) expect((await fetch(`${url}/health`)).status).toBe(200)
}

async function expectHealthy({ web_url, debug_token }: Summary): Promise<void> {
  const headers = { 'x-platform-debug-token': debug_token }
  const diagnosis = await fetch(`${web_url}/health/debug`, { headers })
  expect(diagnosis.status).toBe(200)
  expect(await diagnosis.json()).toMatchObject({
    status: 'ok',
    components: {
      database: { status: 'ok' },
      designer: { status: 'ok', details: { crew_pods_status: 'skipped' } },
      auth: { status: 'skipped', provider: 'local' },
      tools: { status: 'ok' },
      collector: { status: 'ok' },
      oauth: { status: 'ok' },
      llm_connections: { status: 'ok' },
      platform_pods: { status: 'skipped' },
    },
  })
}

async function runCrew(summary: Summary): Promise<string> {
  const headers = {
    authorization: `Bearer ${summary.static_token}`,
    'content-type': 'application/json',
  }
  const body = JSON.stringify({ inputs: { topic: 'tidal power' } })
  const started = await fetch(`${apiOf(summary)}/kickoff`, { method: 'POST', headers, body })
  expect(started.status).toBe(202)
  const { kickoff_id } = (await started.json()) as { kickoff_id: string }
  await until(async () => {
    const status = await fetch(`${apiOf(summary)}/status/${kickoff_id}`, { headers })
    const answer = (await status.json()) as { status: string }
    expect(['queued', 'running', 'completed']).toContain(answer.status)
    return answer.status === 'completed'
  })
  return kickoff_id
}

async function expectTrace(summary: Summary, kickoffId: string): Promise<void> {
  const sql = connectDatabase(parseAddress(summary.collector_database_url), {
    name: 'test',
    max: 1,
  })
  const read = () => sql<{ name: string; operation: string; inputTokens: string }[]>`
    select * from spans where trace_id = ${kickoffId} order by start_time`
  await until(async () => (await read()).length >= 5)
  const spans = await read()
  const calls = spans.filter(({ name }) => name.startsWith('chat '))
  expect(calls).toHaveLength(2)
  for (const call of calls) expect(Number(call.inputTokens)).toBeGreaterThan(0)
  expect(JSON.stringify(spans)).toContain('tidal power')
  await sql.end()
}
