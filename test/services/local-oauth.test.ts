import { execFile, spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { describeSummary } from '../../services/local/summary.ts'
import type { Summary } from '../../services/local/summary.ts'
import { freePortBase } from '../support/free-port.ts'

const root = new URL('../..', import.meta.url).pathname
const run = promisify(execFile)
const tools = ['curl', 'openssl'].filter((tool) => spawnSync(tool, ['version']).error === undefined)
if (tools.length < 2) console.warn('the README as a shell is skipped: curl or openssl not found')

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
    '--import',
    'tsx',
    'services/local.ts',
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

/** The blocks of a language in a section of a document. */
function blocks(file: string, section: string, language: string): string[] {
  const text = readFileSync(join(root, file), 'utf8')
  const after = text.slice(text.indexOf(`\n## ${section}\n`) + 4)
  const end = after.indexOf('\n## ')
  const body = end < 0 ? after : after.slice(0, end)
  return [...body.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, 'g'))].map(
    ([, code = '']) => code,
  )
}

// Bash takes a pipe of Node for a remote login, and reads the machine's bashrc, unless it is nested.
const options = { timeout: 30_000, env: { ...process.env, SHLVL: '1' } }

/** A block as it is run in a test: on the test's own data. */
const onOwnData = (code: string): string => code.replaceAll('. .data/', `. ${directory}/`)

describe('npm start -- --with-idp', () => {
  it('prints one line of JSON, and nothing that a library has to say', () => {
    expect(summary).toMatchObject({ oauth_env_file: join(directory, 'oauth.env') })
    expect(printed).toHaveLength(1)
    expect(terminal).toMatch(/^Starting the platform on .* …\nReady after [\d.]+ s\.\n$/)
  })

  const shells = ['bash', 'dash'].filter((shell) => spawnSync(shell, ['-c', ':']).status === 0)
  it.skipIf(tools.length < 2).each(shells)(
    'makes the walks of the README through both APIs work as pasted in %s',
    async (shell) => {
      const call = blocks('README.md', 'Call an automation', 'sh')
      const design = blocks('README.md', 'Designer API', 'sh').filter((code) =>
        code.includes('PROJECT='),
      )
      expect([call.length, design.length]).toEqual([1, 1])
      for (const code of [...call, ...design]) {
        const { stdout, stderr } = await run(shell, ['-euc', onOwnData(code)], options)
        expect(stderr).toBe('')
        expect(stdout).toContain('"status":')
        expect(stdout).not.toContain('"error":"')
      }
    },
    60_000,
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
    60_000,
  )

  const readme = blocks('README.md', 'Call the API with OAuth', 'sh')

  it.skipIf(tools.length < 2)(
    'makes both walks of the README work as pasted (SPEC 4.5)',
    async () => {
      expect(readme).toHaveLength(2)
      const [secret = '', key = ''] = readme.map(onOwnData)
      expect((await run('sh', ['-c', secret], options)).stdout).toContain('"kickoff_id"')
      expect((await run('sh', ['-c', key], options)).stdout).toContain('{"inputs":[')
    },
  )

  it('makes the client of the documentation run an automation to its end', async () => {
    const [code = ''] = blocks('docs/automation-oauth.md', 'A client', 'js')
    const file = join(directory, 'client.mjs')
    await writeFile(file, code)
    const lines = (await readFile(join(directory, 'oauth.env'), 'utf8')).matchAll(
      /^export (\w+)='?([^'\n]*)'?$/gm,
    )
    const env = {
      ...process.env,
      ...Object.fromEntries([...lines].map(([, name = '', value = '']) => [name, value])),
    }
    expect((await run(process.execPath, [file], { ...options, env })).stdout).toContain('completed')
  }, 40_000)
})
