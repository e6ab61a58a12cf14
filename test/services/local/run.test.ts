import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'

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
})
