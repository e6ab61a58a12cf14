import { spawnSync } from 'node:child_process'
import { chown, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { isReachable, serverOwner } from '../../../services/local/postgres-binaries.ts'

const root = new URL('../../..', import.meta.url).pathname

/** Runs a program of the repository as if by that version of Node. */
function runAs(version: string) {
  const pretend = `Object.defineProperty(process.versions, 'node', { value: '${version}' })`
  return spawnSync(
    process.execPath,
    [
      '--import',
      `data:text/javascript,${encodeURIComponent(pretend)}`,
      'services/run.mjs',
      'services/verify/main.ts',
      '--help',
    ],
    { cwd: root, encoding: 'utf8' },
  )
}

const isRoot = process.getuid?.() === 0
const canBeOrdinary = isRoot && (await isReachable(root))

describe('the programs of the repository', () => {
  it.each(['18.20.8', '20.18.3'])('say in a sentence that Node %s is too old', (version) => {
    const { status, stdout, stderr } = runAs(version)
    expect([status, stdout]).toEqual([1, ''])
    expect(stderr).toBe(
      `This needs Node.js 20.19.0 or newer; this is Node.js ${version}. ` +
        'Install a newer Node.js, then run `npm ci` again.\n',
    )
  })

  it.each(['20.19.0', '24.1.0'])('run on Node %s', (version) => {
    const { status, stdout } = runAs(version)
    expect(status).toBe(0)
    expect(stdout).toContain('Usage: npm run crew:verify')
  })

  it.runIf(canBeOrdinary)('run for a user who cannot write beside the packages', async () => {
    const cache = await mkdtemp(join(tmpdir(), 'user-cache-'))
    const { uid = 0, gid = 0 } = serverOwner
    await chown(cache, uid, gid)
    const env = { PATH: process.env['PATH'] ?? '', XDG_CACHE_HOME: cache }
    const args = ['services/run.mjs', 'services/verify/main.ts', '--help']
    const { status, stdout } = spawnSync(process.execPath, args, {
      cwd: root,
      encoding: 'utf8',
      env,
      uid,
      gid,
    })
    expect([status, stdout]).toEqual([0, expect.stringContaining('Usage: npm run crew:verify')])
    const [checkout = ''] = await readdir(join(cache, 'crew-platform/bundles'))
    const kept = await readdir(join(cache, 'crew-platform/bundles', checkout, 'services/verify'))
    expect(kept).toContain('main.cjs')
    await rm(cache, { recursive: true })
  })
})
