import { execFile, spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { describeSummary } from '../../services/local/summary.ts'
import type { Summary } from '../../services/local/summary.ts'
import { signCollectorToken } from '../../services/shared/collector-token.ts'
import { blocksOf, isWalk, SHELL_BLOCKS, whyNotRun } from '../docs/documents.ts'
import { freePortBase } from '../support/free-port.ts'
import { quickNpm } from '../support/npm.ts'
import { localPlatformPath } from '../support/program.ts'
import { until } from '../support/until.ts'
import { makeWheel, uploadForm } from './web/support/wheels.ts'
import { few, isLong } from '../support/long.ts'

const root = new URL('../..', import.meta.url).pathname
const run = promisify(execFile)
const tools = ['curl', 'openssl'].filter((tool) => spawnSync(tool, ['version']).error === undefined)
if (tools.length < 2) console.warn('the manual as a shell is skipped: curl or openssl not found')

let directory: string
let child: ChildProcess
let summary: Summary
/** All that was written, line by line and as a whole. */
const printed: string[] = []
let terminal = ''

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'local-oauth-'))
  await chmod(directory, 0o755)
  const port = String(await freePortBase())
  const { OPENAI_API_KEY: _key, OPENAI_BASE_URL: _url, ...env } = process.env
  const args = [
    localPlatformPath(),
    '--with-idp',
    '--json',
    '--data',
    directory,
    '--port-base',
    port,
  ]
  const started = spawn(process.execPath, args, {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  child = started
  started.stderr.on('data', (chunk: Buffer) => (terminal += chunk.toString()))
  const lines = createInterface(started.stdout).on('line', (line) => printed.push(line))
  await once(lines, 'line')
  summary = JSON.parse(printed[0] ?? '')
})

afterAll(async () => {
  child.kill('SIGTERM')
  if (child.exitCode === null) await once(child, 'exit')
  await rm(directory, { recursive: true, force: true })
})

// Bash takes a pipe of Node for a remote login, and reads the machine's bashrc, unless it is
// nested.
const env = { ...process.env, SHLVL: '1' }
const options = { timeout: 150_000, env }

/** A block as it is run in a test: on the test's own data. */
const onOwnData = (code: string): string => code.replaceAll(/(?<=\s)\.data\b/g, directory)

/** The blocks of a document that its readers paste beside `npm start`. */
const walks = (document: string): string[] =>
  SHELL_BLOCKS.filter(
    (block) => block.document === document && isWalk(block) && whyNotRun(block) === undefined,
  ).map(({ code }) => code)

/**
 * What each walk of a document prints, among other things; those with OAuth have tests of their
 * own.
 */
const OUTPUTS: Readonly<Record<string, readonly string[]>> = {
  'docs/crewai.md': ['"refusal":null'],
  'docs/design.md': ['pat_', ''],
  'docs/reference.md': ['Usage: npm run task'],
  'docs/sign-in.md': ['Example Ltd'],
  'docs/traces.md': ['keeps what it acknowledges', '"trace_id":', '"erased_at":'],
  // The bundle is told on the other output.
  'docs/troubleshoot.md': [': OK (version ', ''],
}

/** A block with its placeholders filled in, for a run that has ended. */
async function filledIn(code: string): Promise<string> {
  const run = code.includes('<kickoff id>') ? await endedRun() : undefined
  return onOwnData(code)
    .replaceAll('<automation id>', summary.automation_id)
    .replaceAll('<kickoff id>', run?.id ?? '')
    .replaceAll('<organization>', run?.organization ?? '')
}

const bearer = () => ({ authorization: `Bearer ${summary.static_token}` })

/** Starts a run of the sample automation; returns it once its trace is in the list. */
async function endedRun(): Promise<{ id: string; organization: string }> {
  const { web_url, api_prefix, automation_id, collector_url, collector_jwt_secret } = summary
  const response = await fetch(`${web_url}/${api_prefix}/api/v1/crew/${automation_id}/kickoff`, {
    method: 'POST',
    headers: { ...bearer(), 'content-type': 'application/json' },
    body: JSON.stringify({ inputs: { topic: 'tides' } }),
  })
  const { kickoff_id: id } = (await response.json()) as { kickoff_id: string }
  const token = await signCollectorToken(collector_jwt_secret, 'test')
  const headers = { authorization: `Bearer ${token}` }
  let organization = ''
  await until(async () => {
    const response = await fetch(`${collector_url}/api/traces?kickoff=${id}`, { headers })
    const { traces } = (await response.json()) as { traces: { organization: string }[] }
    organization = traces[0]?.organization ?? ''
    return organization !== ''
  })
  return { id, organization }
}

/** Signs in as the terminal says; returns the cookie of the session. */
async function signIn(): Promise<string> {
  const { web_url: url, admin_email: email, admin_password: password } = summary
  const form = await fetch(`${url}/sign-in`)
  const [, token = ''] = /name="csrf_token" value="([^"]+)"/.exec(await form.text()) ?? []
  const body = new URLSearchParams({ email, password, csrf_token: token })
  const headers = { cookie: cookiesOf(form) }
  const request = { method: 'POST', headers, body, redirect: 'manual' } as const
  const answer = await fetch(`${url}/sign-in`, request)
  expect(answer.status).toBe(303)
  return cookiesOf(answer)
}

const cookiesOf = (response: Response): string =>
  response.headers
    .getSetCookie()
    .map((each) => each.split(';')[0])
    .join('; ')

/** Sends a span that is a trace by itself. */
async function sendTrace(token: string, traceId: string): Promise<void> {
  const ns = String(BigInt(Date.now()) * 1_000_000n)
  const span = {
    traceId,
    spanId: 'c3'.repeat(8),
    name: 'mine',
    startTimeUnixNano: ns,
    endTimeUnixNano: ns,
  }
  const answer = await fetch(`${summary.collector_url}/v1/traces`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] }),
  })
  expect(answer.status).toBe(200)
}

/** Uploads the tool that the manual yanks. */
async function uploadTool(): Promise<void> {
  const body = uploadForm(makeWheel('my-tool', '1.0'))
  const address = `${summary.web_url}/tools/organization/`
  const response = await fetch(address, { method: 'POST', headers: bearer(), body })
  expect(response.status).toBe(200)
}

const withoutNumbers = (text: string): string =>
  text.replaceAll(/\d[\d.]*/g, '0').replaceAll(/ +/g, ' ')

/** The lines of an excerpt, in the parts that its ellipses leave. */
const partsOf = (excerpt: string): string[] =>
  withoutNumbers(excerpt)
    .split(/\n|…/)
    .filter((part) => part.trim() !== '')

describe('npm start -- --with-idp', () => {
  it('prints one line of JSON, and nothing that a library has to say', () => {
    expect(summary).toMatchObject({ oauth_env_file: join(directory, 'oauth.env') })
    expect(printed).toHaveLength(1)
    expect(terminal).toMatch(/^Starting the platform on .* …\nReady after [\d.]+ s\.\n$/)
  })

  const shells = ['bash', 'dash'].filter((shell) => spawnSync(shell, ['-c', ':']).status === 0)
  it.skipIf(tools.length < 2).each(few(shells, 1))(
    'makes the walks of the manual through both APIs work as pasted in %s',
    async (shell) => {
      const call = walks('docs/call.md')
      const design = walks('docs/design.md').filter((code) => code.includes('PROJECT='))
      const first = walks('docs/first-crew.md')
      expect([call.length, design.length, first.length]).toEqual([3, 1, 1])
      // Those of one page go on with what the ones before them have set.
      for (const code of [call.join('\n'), ...design, ...first]) {
        const { stdout, stderr } = await run(shell, ['-euc', onOwnData(code)], options)
        expect(stderr).toBe('')
        expect(stdout).toContain('"status":')
        expect(stdout).not.toContain('"error":"')
      }
    },
    180_000,
  )

  it.runIf(isLong && tools.length === 2)(
    'makes the walks of the manual through everything else work as pasted',
    async () => {
      await uploadTool()
      const path = `${await quickNpm(directory)}:${process.env['PATH']}`
      for (const [document, expected] of Object.entries(OUTPUTS)) {
        const outputs: string[] = []
        for (const code of walks(document).filter((each) => !each.includes('PROJECT='))) {
          const { stdout } = await run('sh', ['-euc', await filledIn(code)], {
            ...options,
            env: { ...env, PATH: path },
            cwd: root,
          })
          outputs.push(stdout)
        }
        expect(outputs, document).toEqual(expected.map((text) => expect.stringContaining(text)))
      }
    },
    180_000,
  )

  it.skipIf(tools.length < 2)(
    'prints commands that work as pasted',
    async () => {
      const text = describeSummary(summary, { topic: 'tides' })
      const commands = text.split('\n').filter((line) => /^ {2}(\w+=|curl |export |\. )/.test(line))
      const code = commands.join('\n')
      const { stdout } = await run('sh', ['-euc', code], { ...options, cwd: root })
      expect(stdout).toMatch(/"kickoff_id":"[^"]+","status":"(queued|running|completed)"/)
      expect(stdout).toContain('"traces":')
      expect(stdout).toContain('"components":')
    },
    180_000,
  )

  it.runIf(isLong && tools.length === 2)(
    'prints a token whose traces the person who signs in sees, as the manual does',
    async () => {
      const cookie = await signIn()
      const path = `${await quickNpm(directory)}:${process.env['PATH']}`
      const [send = ''] = walks('docs/traces.md').map(onOwnData)
      const token = /^ {2}TRACE_TOKEN=.*$/m.exec(describeSummary(summary, {}))?.[0] ?? ''
      for (const [traceId, code] of Object.entries({
        ['a1'.repeat(16)]: token,
        ['b2'.repeat(16)]: send,
      })) {
        const { stdout } = await run('sh', ['-euc', `${code}\necho "$TRACE_TOKEN"`], {
          ...options,
          env: { ...env, PATH: path },
          cwd: root,
        })
        await sendTrace(stdout.trim().split('\n').at(-1) ?? '', traceId)
        await until(async () => {
          const page = await fetch(`${summary.web_url}/traces`, { headers: { cookie } })
          return (await page.text()).includes(`/traces/${traceId}`)
        })
      }
    },
    180_000,
  )

  it.runIf(isLong && tools.length === 2)(
    'makes the commands of the README print what it shows',
    async () => {
      const shown = blocksOf('README.md').filter(({ language }) => /json|text/.test(language))
      const commands = walks('README.md').map(onOwnData)
      expect([commands.length, shown.length]).toEqual([3, 3])
      for (const [index, code] of commands.entries()) {
        const { stdout } = await run('sh', ['-euc', code], { ...options, cwd: root })
        const { language, code: excerpt = '' } = shown[index] ?? {}
        if (language === 'json') expect(JSON.parse(stdout)).toMatchObject(JSON.parse(excerpt))
        else for (const part of partsOf(excerpt)) expect(withoutNumbers(stdout)).toContain(part)
      }
    },
    180_000,
  )

  it.skipIf(tools.length < 2)(
    'makes both walks of the manual with OAuth work as pasted (SPEC 4.5)',
    async () => {
      const found = walks('docs/automation-oauth.md')
      expect(found).toHaveLength(2)
      const [secret = '', key = ''] = found.map(onOwnData)
      expect((await run('sh', ['-c', secret], options)).stdout).toContain('"kickoff_id"')
      expect((await run('sh', ['-c', key], options)).stdout).toContain('{"inputs":[')
    },
  )

  it('makes the client of the documentation run an automation to its end', async () => {
    const [client] = blocksOf('docs/automation-oauth.md').filter(
      ({ language }) => language === 'js',
    )
    const file = join(directory, 'client.mjs')
    await writeFile(file, client?.code ?? '')
    const lines = (await readFile(join(directory, 'oauth.env'), 'utf8')).matchAll(
      /^export (\w+)='?([^'\n]*)'?$/gm,
    )
    const env = {
      ...process.env,
      ...Object.fromEntries([...lines].map(([, name = '', value = '']) => [name, value])),
    }
    expect((await run(process.execPath, [file], { ...options, env })).stdout).toContain('completed')
  }, 180_000)
})
