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
import { freePortBase } from '../support/free-port.ts'

const root = new URL('../..', import.meta.url).pathname
const run = promisify(execFile)
const tools = ['curl', 'openssl'].filter((tool) => spawnSync(tool, ['version']).error === undefined)
if (tools.length < 2) console.warn('the README as a shell is skipped: curl or openssl not found')

let directory: string
let child: ChildProcess

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
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  child = started
  for await (const line of createInterface(started.stdout)) {
    expect(JSON.parse(line)).toMatchObject({ oauth_env_file: join(directory, 'oauth.env') })
    break
  }
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

const options = { timeout: 30_000 }

describe('npm start -- --with-idp', () => {
  const readme = blocks('README.md', 'Call the API with OAuth', 'sh')

  it.skipIf(tools.length < 2)(
    'makes both walks of the README work as pasted (SPEC 4.5)',
    async () => {
      expect(readme).toHaveLength(2)
      const [secret = '', key = ''] = readme.map((code) =>
        code.replace('. .data/', `. ${directory}/`),
      )
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
