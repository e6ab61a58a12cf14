import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ensurePublicToolRepository } from '../../../../../services/platform/tools/tools.ts'
import { createLog } from '../../../../../services/shared/log.ts'
import type { Service } from '../../../../../services/shared/http/serve.ts'
import { start } from '../../../../../services/web/start.ts'
import { makeWheel, uploadForm } from '../../support/wheels.ts'
import type { Wheel } from '../../support/wheels.ts'
import { openPlatform, environment } from '../../support/platform.ts'
import type { Platform } from '../../support/platform.ts'
import { few } from '../../../../support/long.ts'

const PYTHON = process.env['PYTHON'] ?? 'python3'
const has = (module: string) =>
  spawnSync(PYTHON, ['-m', module, '--version'], { timeout: 20_000 }).status === 0
const hasPip = has('pip')
const hasTwine = has('twine')
if (!hasPip) console.warn(`pip tests skipped: \`${PYTHON} -m pip\` does not run; set PYTHON`)
if (!hasTwine) console.warn(`twine tests skipped: \`${PYTHON} -m twine\` does not run; set PYTHON`)

let platform: Platform
let service: Service
let token: string
let folder: string

beforeAll(async () => {
  platform = await openPlatform()
  await ensurePublicToolRepository(platform.sql, 'public')
  token = await platform.issueToken(platform.acme)
  const log = createLog({ name: 'web', level: 'silent' })
  service = await start(environment(platform.url), { log, lingerMs: 0 })
  folder = await mkdtemp(join(tmpdir(), 'tools-'))
})

afterAll(async () => {
  await service.stop()
  await platform.close()
  await rm(folder, { recursive: true })
})

/** Runs a Python module with nothing but what it is told; it talks to no other machine. */
async function python(...args: string[]): Promise<{ code: number; output: string }> {
  const child = spawn(PYTHON, ['-m', ...args], {
    cwd: folder,
    timeout: 60_000,
    env: {
      PATH: process.env['PATH'],
      HOME: folder,
      PIP_CONFIG_FILE: '/dev/null',
      PIP_NO_CACHE_DIR: '1',
      PIP_DISABLE_PIP_VERSION_CHECK: '1',
      PIP_NO_INPUT: '1',
      NO_COLOR: '1',
      COLUMNS: '200',
      NO_PROXY: '127.0.0.1',
    },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const [code] = await once(child, 'close')
  return { code: Number(code), output }
}

const indexUrl = (as: string) =>
  as ? service.url.replace('http://', `http://__token__:${as}@`) : service.url

const download = (to: string, ...what: string[]) => {
  const index = `${indexUrl(token)}/tools/organization/simple/`
  return python('pip', 'download', '--index-url', index, '--no-deps', '--dest', to, ...what)
}

async function upload(wheel: Wheel, fields: Record<string, string> = {}): Promise<void> {
  const response = await fetch(`${service.url}/tools/organization/`, {
    method: 'POST',
    body: uploadForm(wheel, fields),
    headers: { authorization: `Bearer ${token}` },
  })
  expect(response.status).toBe(200)
}

describe.skipIf(!hasPip)('pip with the tools index (SPEC 2.3)', () => {
  it(
    'downloads a file as it was uploaded, by any spelling of its name',
    { timeout: 180_000 },
    async () => {
      const wheel = makeWheel('Report.Tool', '1.0')
      await upload(wheel)
      const { code, output } = await download('plain', 'report_tool')
      expect(output).toContain('Saved')
      expect(code).toBe(0)
      expect(await readFile(join(folder, 'plain', wheel.filename))).toEqual(wheel.content)
    },
  )

  it('passes over versions for another Python, and yanked ones', { timeout: 180_000 }, async () => {
    await upload(makeWheel('choosy', '1.0'))
    await upload(makeWheel('choosy', '2.0'))
    await upload(makeWheel('choosy', '3.0', '>=99'), { requires_python: '>=99' })
    const yank = await fetch(
      `${service.url}/tools/organization/files/choosy-2.0-py3-none-any.whl/yanked`,
      {
        method: 'PUT',
        body: JSON.stringify({ reason: 'broken on Tuesdays' }),
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      },
    )
    expect(yank.status).toBe(204)
    expect((await download('choosy', 'choosy')).code).toBe(0)
    expect(await readdir(join(folder, 'choosy'))).toEqual(['choosy-1.0-py3-none-any.whl'])
    const pinned = await download('choosy', 'choosy==2.0')
    expect(pinned.code).toBe(0)
    expect(pinned.output).toContain('broken on Tuesdays')
  })

  it('gets nothing without the token of the organization', { timeout: 180_000 }, async () => {
    await upload(makeWheel('hidden', '1.0'))
    for (const as of few([await platform.issueToken(platform.rival), '', 'pat_wrong'], 1)) {
      const index = `${indexUrl(as)}/tools/organization/simple/`
      const args = ['--index-url', index, '--no-deps', '--dest', 'hidden', 'hidden']
      expect((await python('pip', 'download', ...args)).code).not.toBe(0)
    }
  })

  it('refuses a file that was changed on the way', { timeout: 180_000 }, async () => {
    const wheel = makeWheel('tampered', '1.0')
    await upload(wheel)
    await platform.sql`
      update tool_parts set content = content || '\\x00'
      where tool_id = (select id from tools where filename = ${wheel.filename})`
    await platform.sql`update tools set size = size + 1 where filename = ${wheel.filename}`
    const { code, output } = await download('tampered', 'tampered')
    expect(code).not.toBe(0)
    expect(output).toMatch(/DO NOT MATCH THE HASHES/i)
  })
})

describe.skipIf(!hasTwine || !hasPip)('twine', () => {
  it('uploads a package that pip then installs from', { timeout: 180_000 }, async () => {
    const wheel = makeWheel('by-twine', '1.0', '>=3.8')
    await writeFile(join(folder, wheel.filename), wheel.content)
    const url = `${service.url}/tools/organization/`
    const send = (password: string) =>
      python(
        'twine',
        'upload',
        '--non-interactive',
        '--repository-url',
        url,
        '-u',
        '__token__',
        '-p',
        password,
        wheel.filename,
      )
    expect(
      (await send(await platform.issueToken(platform.acme, platform.acme.research.id))).code,
    ).toBe(1)
    const sent = await send(token)
    expect(sent.output).toContain('100%')
    expect(sent.code).toBe(0)
    expect((await send(token)).code).toBe(0)
    expect((await download('twine', 'by-twine')).code).toBe(0)
    expect(await readFile(join(folder, 'twine', wheel.filename))).toEqual(wheel.content)
  })
})
