import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLog } from '../../../../../services/shared/log.ts'
import { automationPath } from '../../../../../services/web/api/automation/automation-urls.ts'
import { start } from '../../../../../services/web/start.ts'
import { runCommands } from '../../../../support/run-commands.ts'
import { says } from '../../../crew/fake-model.ts'
import { environment } from '../../support/platform.ts'
import { openRunningPlatform } from '../../support/running-platform.ts'

/** `all` installs the generators too: `npm run test:long -- clients`. */
const isLong = process.env['CLIENTS'] === 'all'
const ROOT = fileURLToPath(new URL('../../../../../', import.meta.url))
const PROGRAMS = fileURLToPath(new URL('programs/', import.meta.url))
/** What was installed once stays for the next run. */
const CACHE = join(ROOT, 'node_modules/.cache/clients')
const LONG_MS = 600_000

const NODE = 'openapi-typescript@7.13.0 openapi-fetch@0.17.0 typescript@5.9.3 @types/node@20.19.9'
const PYTHON = 'openapi-python-client==0.29.1'
/** The generator knows no archives. */
const CONFIG = `post_hooks: []
content_type_overrides:
  application/zip: application/octet-stream
  application/gzip: application/octet-stream
`
const hasUv = spawnSync('which', ['uv']).status === 0
if (isLong && !hasUv) console.warn('openapi-python-client was not tried: uv is not on the PATH')

let platform: Awaited<ReturnType<typeof openRunningPlatform>>
let document: string
/** How long it may be kept. */
let kept: string | null
/** That of one automation, one of whose inputs may be of any type. */
let automationDocument: string
let env: Record<string, string>

beforeAll(async () => {
  platform = await openRunningPlatform()
  platform.model.play(says('Rain.'))
  const log = createLog({ name: 'web', level: 'silent' })
  const web = await start(environment(platform.url), { log, lingerMs: 0 })
  platform.own(web)
  const answer = await fetch(`${web.url}/openapi.json`)
  document = await answer.text()
  kept = answer.headers.get('cache-control')
  const token = await platform.issueToken(platform.acme)
  const path = automationPath(
    { PLATFORM_API_PREFIX: 'platform' },
    platform.acme.research.automationId,
  )
  const headers = { authorization: `Bearer ${token}` }
  automationDocument = await (await fetch(`${web.url}${path}/openapi.json`, { headers })).text()
  env = { PLATFORM_URL: web.url, TOKEN: token }
})

afterAll(() => platform.close())

const SAID = {
  inputs: ['place'],
  status: 'completed',
  output: 'Rain.',
  tasks: ['tell completed'],
  steps: ['task finished', 'llm finished'],
  refused: 'not_found',
}

/** The folder of a program, with the documents in it. */
function folderOf(name: string): string {
  const folder = isLong ? join(CACHE, name) : mkdtempSync(join(tmpdir(), 'clients-'))
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'openapi.json'), document)
  writeFileSync(join(folder, 'automation.json'), automationDocument)
  return folder
}

/** What a program wrote in its last line. */
async function run(folder: string, commands: string): Promise<unknown> {
  const written = await runCommands(commands, { folder, env, signal: AbortSignal.timeout(LONG_MS) })
  return JSON.parse(written.trim().split('\n').at(-1) ?? '')
}

describe('a client made from /openapi.json', () => {
  it('reads a document that caches may keep for five minutes', () => {
    expect(kept).toBe('public, max-age=300')
  })

  it('in TypeScript designs a crew and runs it', { timeout: LONG_MS }, async () => {
    const folder = folderOf('typescript')
    copyFileSync(join(PROGRAMS, 'program.ts.txt'), join(folder, 'program.ts'))
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
    if (!isLong) {
      // Its types are erased: the program runs without those that are generated.
      symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
      expect(await run(folder, 'node --import tsx program.ts')).toEqual(SAID)
      return
    }
    const generate = [
      `npm install --silent --no-save --no-audit ${NODE}`,
      'npx --no-install openapi-typescript automation.json --output automation.ts',
      'npx --no-install openapi-typescript openapi.json --output api.ts',
      'npx --no-install tsc --strict --noEmitOnError --target es2023 --module nodenext ' +
        '--rewriteRelativeImportExtensions program.ts',
      'node program.js',
    ]
    expect(await run(folder, generate.join('\n'))).toEqual(SAID)
  })

  it.skipIf(!isLong || !hasUv)(
    'in Python designs a crew and runs it',
    { timeout: LONG_MS },
    async () => {
      const folder = folderOf('python')
      copyFileSync(join(PROGRAMS, 'program.py'), join(folder, 'program.py'))
      writeFileSync(join(folder, 'config.yaml'), CONFIG)
      const generate = [
        '[ -e .venv ] || uv venv --quiet',
        `uv pip install --quiet ${PYTHON}`,
        ...['openapi.json --output-path client', 'automation.json --output-path automation'].map(
          (paths) =>
            `openapi-python-client generate --path ${paths} --meta none --overwrite ` +
            '--config config.yaml --fail-on-warning',
        ),
        'python program.py',
        'python -c "from automation.api.automations import fork_run, kickoff"',
      ]
      expect(await run(folder, generate.join('\n'))).toEqual(SAID)
    },
  )
})
