import { execFile } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Ajv } from 'ajv'
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest'
import { runDoctor } from '../../../services/doctor/doctor.ts'
import { COMPONENT_NAMES } from '../../../services/web/diagnostics/checks/list.ts'
import { runProgram } from '../../support/program.ts'
import { serveWeb, TOKEN } from '../web/diagnostics/support/web.ts'
import type { Web, WebOptions } from '../web/diagnostics/support/web.ts'
import {
  closed,
  huge,
  httpServer,
  json,
  page,
  redirect,
  silent,
} from '../web/diagnostics/support/faults.ts'
import type { Fault } from '../web/diagnostics/support/faults.ts'
import { OAUTH_KEY, startDependencies } from '../web/diagnostics/support/dependencies.ts'
import type { Dependencies } from '../web/diagnostics/support/dependencies.ts'
import { surroundings } from './support/surroundings.ts'

let dependencies: Dependencies
let directory: string
const schema = JSON.parse(
  readFileSync(new URL('../../../docs/doctor-report.schema.json', import.meta.url), 'utf8'),
) as object
const isReport = new Ajv({ strict: false }).compile(schema)
const open: { close(): Promise<void> }[] = []

beforeAll(async () => {
  dependencies = await startDependencies()
  directory = mkdtempSync(join(tmpdir(), 'doctor-'))
})

afterEach(() => Promise.all(open.splice(0).map((each) => each.close())))

afterAll(async () => {
  rmSync(directory, { recursive: true })
  await dependencies.stop()
})

async function serve(change: Partial<WebOptions> = {}): Promise<Web> {
  const web = await serveWeb(dependencies.options(change))
  open.push(web)
  return web
}

const doctor = (...args: string[]) =>
  runDoctor(args, { PLATFORM_DEBUG_TOKEN: TOKEN }, surroundings())

describe('npm run doctor', () => {
  it('prints a table and exits with 0 when everything is well', async () => {
    const { url } = await serve()
    const { exitCode, stdout, stderr } = await doctor('--url', `${url}/`)
    expect(exitCode).toBe(0)
    expect(stderr).toBe('')
    expect(stdout).toMatch(
      /^http:\/\/127\.0\.0\.1:\d+: OK \(version 1\.13\.0, sign-in okta, \d+ ms\)\n/,
    )
    expect(stdout).toMatch(/^ {2}ok +database +\d+ ms {2}select_1$/m)
    expect(stdout.match(/^ {2}ok /gm)).toHaveLength(COMPONENT_NAMES.length)
  })

  it('says what to do, and exits with 1, where something is wrong', async () => {
    const { url } = await serve({ env: { PLATFORM_OAUTH_API_KEY: '' } })
    const { exitCode, stdout } = await doctor('--url', url)
    expect(exitCode).toBe(1)
    expect(stdout).toMatch(/: DEGRADED /)
    expect(stdout).toMatch(
      /^ {2}fail +oauth +\d+ ms {2}API key missing: .*\n +→ Set PLATFORM_OAUTH/m,
    )
  })

  it('tells a warning, and exits with 0', async () => {
    const failing = await json(503, {})
    open.push({ close: () => failing.stop() })
    const { url } = await serve({ env: { PLATFORM_OAUTH_API_BASE_URL: failing.url } })
    const { exitCode, stdout } = await doctor('--url', url)
    expect(exitCode).toBe(0)
    expect(stdout).toMatch(/^ {2}ok +oauth .*\n +! HTTP 503 from the OAuth service\n +→ The OAuth/m)
  })

  it('exits with 2 where the platform does not work', async () => {
    const idp = await closed()
    const { url } = await serve({ env: { OIDC_ISSUER_URL: idp.url } })
    const { exitCode, stdout } = await doctor('--url', url)
    expect(exitCode).toBe(2)
    expect(stdout).toMatch(/: FAIL /)
  })

  it.each([
    ['nobody listens', closed, /Not reachable: .*ECONNREFUSED/],
    ['nothing is answered', silent, /did not answer within 900 ms/],
    ['a proxy answers 502', () => page(502), /HTTP 502/],
    ['a redirect is answered', () => redirect('http://127.0.0.1:1/'), /HTTP 302: a redirect/],
    ['a page is answered', () => page(), /HTTP 200 with something that is no diagnostic report/],
    ['a 503 of something else is answered', () => json(503, { status: 'fail' }), /HTTP 503 with/],
    ['megabytes are answered', huge, /too large for a report/],
  ] as const)('exits with 3 where %s', async (_, fault, problem) => {
    const server: Fault = await fault()
    open.push({ close: () => server.stop() })
    const seconds = String(server.limits.abortMs / 1000)
    const { exitCode, stdout } = await doctor('--url', server.url, '--timeout', seconds)
    expect(exitCode).toBe(3)
    expect(stdout).toMatch(problem)
  })

  it('exits with 3 where the endpoint hides, and says why it may', async () => {
    const { url } = await serve()
    const wrong = await doctor('--url', url, '--token', 'x'.repeat(40))
    expect(wrong.exitCode).toBe(3)
    expect(wrong.stdout).toMatch(/HTTP 404: the token is not that of this platform, .*SELF_HOSTED/)
    expect(wrong.stdout).not.toContain('x'.repeat(40))
  })

  it('sends the token nowhere else', async () => {
    const seen: unknown[] = []
    const thief = await httpServer((request, response) => {
      seen.push(request.headers)
      response.end()
    })
    const server = await redirect(thief.url)
    open.push({ close: () => thief.stop() }, { close: () => server.stop() })
    await doctor('--url', server.url)
    expect(seen).toEqual([])
  })

  it('prints the report as it came with --json', async () => {
    const { url } = await serve()
    const { exitCode, stdout } = await doctor('--url', url, '--json')
    expect(exitCode).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      status: 'ok',
      components: { auth: { status: 'ok', provider: 'okta', http_status: 200 } },
    })
    const unavailable = await closed()
    const problem = await doctor('--url', unavailable.url, '--json')
    expect(problem.exitCode).toBe(3)
    expect(JSON.parse(problem.stdout)).toEqual({
      url: unavailable.url,
      problem: expect.stringContaining('ECONNREFUSED'),
    })
  })

  it('prints nothing that a terminal obeys', async () => {
    const liar = await json(200, {
      status: 'ok',
      duration_ms: 1,
      environment: { platform: true, auth_provider: '\u001b]0;pwned\u0007', version: '1\u202e' },
      components: { database: { status: 'fail', error: '\u001b[2J\r\nok' } },
    })
    open.push({ close: () => liar.stop() })
    const { stdout } = await doctor('--url', liar.url)
    expect(stdout).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u)
  })

  it.each([
    [[], /--url, or --pods/],
    [['--url', 'platform.example.com'], /"platform.example.com" is no address/],
    [['--url', 'http://a', '--timeout', 'soon'], /--timeout takes seconds/],
    [['--verbose'], /--verbose/],
  ])('explains its use, and exits with 64, for %j', async (args, problem) => {
    const { exitCode, stdout, stderr } = await doctor(...args)
    expect(exitCode).toBe(64)
    expect(stdout).toBe('')
    expect(stderr).toMatch(problem)
    expect(stderr).toContain('Usage: npm run doctor')
  })

  it('wants a token, and does without anything for --help', async () => {
    const missing = await runDoctor(['--url', 'http://127.0.0.1:9'], {}, surroundings())
    expect(missing.exitCode).toBe(64)
    expect(missing.stderr).toMatch(/PLATFORM_DEBUG_TOKEN/)
    const help = await runDoctor(['--help'], {}, surroundings())
    expect(help).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('Exit code: 0 ok') })
  })

  it('runs as a command', async () => {
    const { url } = await serve()
    const { stdout } = await runProgram('doctor', ['--url', url, '--token', TOKEN])
    expect(stdout).toMatch(/: OK /)
  })
})

describe('npm run doctor -- --only and --skip', () => {
  it('judge by the components that are named', async () => {
    const idp = await closed()
    const { url } = await serve({ env: { OIDC_ISSUER_URL: idp.url, PLATFORM_OAUTH_API_KEY: '' } })
    const codes = async (...args: string[]) => (await doctor('--url', url, ...args)).exitCode
    expect(await codes()).toBe(2)
    expect(await codes('--skip', 'auth')).toBe(1)
    expect(await codes('--only', 'database,tools')).toBe(0)
    const { stdout } = await doctor('--url', url, '--only', 'tools', '--json')
    const report = JSON.parse(stdout) as { components: object }
    expect(Object.keys(report.components)).toEqual(['tools'])
    expect(isReport(report), JSON.stringify(isReport.errors)).toBe(true)
  })

  it.each([
    ['--only', 'databse', /no check "databse". Did you mean database\?/],
    ['--skip', COMPONENT_NAMES.join(','), /leave no check/],
  ])('refuse %s %s', async (option, names, problem) => {
    const { url } = await serve()
    const { exitCode, stderr } = await doctor('--url', url, option, names)
    expect(exitCode).toBe(64)
    expect(stderr).toMatch(problem)
  })
})

describe('npm run doctor -- --wait', () => {
  const ask = (url: string, time: ReturnType<typeof surroundings>) =>
    runDoctor(['--url', url, '--wait=60', '--timeout', '5'], { PLATFORM_DEBUG_TOKEN: TOKEN }, time)

  it('asks until the report is ok, and says each state once', async () => {
    let [healthy, reports] = [0, 0]
    const report = (status: string) => ({
      status,
      duration_ms: 1,
      environment: { platform: true, auth_provider: 'local', version: '1' },
      components:
        status === 'ok'
          ? { tools: { status } }
          : {
              tools: { status: 'fail', error: 'no', details: { code: 'tool_repository_missing' } },
            },
    })
    const server = await httpServer((request, response) => {
      if (request.url === '/health') response.writeHead((healthy += 1) > 3 ? 200 : 503).end()
      else response.end(JSON.stringify(report((reports += 1) > 2 ? 'ok' : 'degraded')))
    })
    open.push({ close: () => server.stop() })
    const time = surroundings()
    const { exitCode, stdout } = await ask(server.url, time)
    expect(exitCode).toBe(0)
    expect(stdout).toMatch(/: OK /)
    expect(reports).toBe(3)
    expect(time.said).toEqual([
      `waiting (0 s of 60 s): HTTP 503 from ${server.url}/health\n`,
      'waiting (6 s of 60 s): degraded: tools (tool_repository_missing)\n',
    ])
  })

  it('ends when the time is over, with the last report', async () => {
    const { url } = await serve({ env: { PLATFORM_OAUTH_API_KEY: '' } })
    const time = surroundings()
    const { exitCode, stdout } = await runDoctor(
      ['--url', url, '--wait=25'],
      { PLATFORM_DEBUG_TOKEN: TOKEN },
      time,
    )
    expect([exitCode, time.now()]).toEqual([1, expect.any(Number)])
    expect(time.naps()).toBeLessThan(20)
    expect(stdout).toMatch(/: DEGRADED /)
  })

  it('ends for an address where nobody listens', async () => {
    const unavailable = await closed()
    expect((await ask(unavailable.url, surroundings())).exitCode).toBe(3)
  })
})

describe('npm run doctor -- --diff', () => {
  it('says what changed since the last good report', async () => {
    const file = join(directory, 'kept', 'last-good.json')
    const good = await serve()
    const first = await doctor('--url', good.url, '--diff', file)
    expect(first.stdout).toMatch(/There is no good report yet/)
    // A database that is used grows and shrinks all the time.
    await dependencies.sql`create table grown as select generate_series(1, 1000) as n`
    expect((await doctor('--url', good.url, '--diff', file)).stdout).toMatch(
      /\n {2}nothing changed/,
    )
    const bad = await serve({ env: { PLATFORM_OAUTH_API_KEY: '', PLATFORM_VERSION: '2.0.0' } })
    const { exitCode, stdout } = await doctor('--url', bad.url, '--diff', file)
    expect(exitCode).toBe(1)
    expect(stdout).toContain('~ environment.version: 1.13.0 → 2.0.0')
    expect(stdout).toContain('~ components.oauth.status: ok → fail')
    expect(stdout).toContain('+ components.oauth.details.code: oauth_key_missing')
    expect(stdout).not.toContain('is the last good one from now on')
    const again = JSON.parse(
      (await doctor('--url', bad.url, '--diff', file, '--json')).stdout,
    ) as Record<'report' | 'difference', unknown>
    expect(isReport(again.report)).toBe(true)
    expect(again.difference).toMatchObject({ isKept: false, isComplete: true })
  })

  it('leaves a file alone that is none of its own', async () => {
    const file = join(directory, 'notes.json')
    writeFileSync(file, '{"mine":true}')
    const { url } = await serve()
    const { exitCode, stderr } = await doctor('--url', url, '--diff', file)
    expect(exitCode).toBe(64)
    expect(stderr).toMatch(/holds no report/)
    expect(readFileSync(file, 'utf8')).toBe('{"mine":true}')
  })
})

describe('the published schema of the report', () => {
  it.each([
    ['everything is well', {}],
    ['a key is missing', { PLATFORM_OAUTH_API_KEY: '' }],
    ['the identity provider is unavailable', { OIDC_ISSUER_URL: 'http://127.0.0.1:9' }],
    ['nothing is configured', { AUTH_PROVIDER: 'local', COLLECTOR_URL: '' }],
  ])('describes the report when %s', async (_, env) => {
    const { report } = await (await serve({ env })).report()
    expect(isReport(report), JSON.stringify(isReport.errors)).toBe(true)
  })

  it('knows a report with a code of its own invention', () => {
    const component = { status: 'fail', latency_ms: 1, error: 'x' }
    const details = { code: 'invented', remediation: 'x' }
    const environment = { platform: true, auth_provider: 'local', version: '1' }
    const components = { database: { ...component, details } }
    expect(isReport({ status: 'fail', duration_ms: 1, environment, components })).toBe(false)
  })
})

describe('doctor.mjs', () => {
  it('runs by itself, and asks the pod that it is in', async () => {
    const file = join(directory, 'doctor.mjs')
    copyFileSync(join(inject('programsDirectory'), 'doctor.mjs'), file)
    const { url } = await serve()
    const env = { POD_NAME: 'web-1', PORT: new URL(url).port, PLATFORM_DEBUG_TOKEN: TOKEN }
    const { stdout } = await promisify(execFile)(process.execPath, [file], { cwd: directory, env })
    expect(stdout).toMatch(/: OK /)
  })
})

describe('npm run doctor -- --pods (SPEC appendix 6)', () => {
  const pod = (name: string, key = OAUTH_KEY) =>
    serve({ env: { POD_NAME: name, PLATFORM_OAUTH_API_KEY: key } })

  it('asks each pod, and finds that they share one key', async () => {
    const pods = [await pod('web-1'), await pod('web-2')]
    const { exitCode, stdout } = await doctor('--pods', pods.map(({ url }) => url).join(','))
    expect(exitCode).toBe(0)
    expect(stdout.match(/: OK /g)).toHaveLength(2)
    expect(stdout).toMatch(
      /All pods have the same PLATFORM_OAUTH_API_KEY\.\n\n {2}web-1 {2}[0-9a-f]{12}\n {2}web-2 {2}/,
    )
  })

  it('finds the pod that started with another key, though each is well by itself', async () => {
    const pods = [await pod('web-1'), await pod('web-2', `${OAUTH_KEY}-of-before`)]
    const urls = pods.map(({ url }) => url).join(',')
    const { exitCode, stdout } = await doctor('--pods', urls)
    expect(exitCode).toBe(1)
    expect(stdout).toContain('The pods have different values of PLATFORM_OAUTH_API_KEY.')
    const asJson = JSON.parse((await doctor('--pods', urls, '--json')).stdout) as {
      pods: unknown[]
      oauth_keys: unknown
    }
    expect(asJson.pods).toHaveLength(2)
    expect(asJson.oauth_keys).toMatchObject({ same: false })
  })

  it('has the worst exit code of all', async () => {
    const unavailable = await closed()
    const { url } = await pod('web-1')
    expect((await doctor('--pods', `${url},${unavailable.url}`)).exitCode).toBe(3)
  })
})
