import { spawnSync } from 'node:child_process'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePortBase } from '../../support/free-port.ts'
import { localPlatformPath } from '../../support/program.ts'

const root = new URL('../../..', import.meta.url).pathname
/** Runs a script where a disk of that size, which nobody else sees, is mounted on a directory. */
const onDisk = (size: string, directory: string, script: string) => {
  const mount = `mount -t tmpfs -o size=${size},mode=755 tmpfs "$0"`
  return spawnSync('unshare', ['-m', 'sh', '-c', `${mount} && ${script}`, directory], {
    cwd: root,
    encoding: 'utf8',
  })
}

const canMount = onDisk('1m', tmpdir(), 'true').status === 0
if (!canMount) console.warn('a full disk is skipped: this user may not mount one')

let directory: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'full-'))
  await chmod(directory, 0o755)
})

afterAll(() => rm(directory, { recursive: true }))

describe('npm start on a full disk', () => {
  it.skipIf(!canMount).each([
    ['for PostgreSQL to begin', '30m'],
    ['after it has begun', '60m'],
  ])(
    '%s says so in a sentence',
    async (_, size) => {
      const port = await freePortBase()
      const start = `exec node ${localPlatformPath()} --data "$0/data" --port-base ${port}`
      const { status, stderr } = onDisk(size, directory, start)
      expect(status).toBe(1)
      const [last] = stderr.trim().split('\n').slice(-1)
      expect(last).toContain(`there is no space left on the disk of ${directory}/data`)
      expect(last).toContain('Free some space, or choose a directory on another disk with --data.')
      expect(stderr).not.toContain('    at ')
    },
    180_000,
  )
})
