import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

const root = new URL('../..', import.meta.url).pathname

/**
 * Commits of a machine without a configured author; no hook or setting of the machine takes part.
 */
const gitEnv = {
  ...process.env,
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_AUTHOR_NAME: 'Ada',
  GIT_AUTHOR_EMAIL: 'ada@example.com',
  GIT_COMMITTER_NAME: 'Ada',
  GIT_COMMITTER_EMAIL: 'ada@example.com',
}

/**
 * Runs a program in a directory; returns what it prints, or throws with what it complains about.
 */
export function runIn(directory: string, program: string, args: readonly string[]): string {
  return execFileSync(program, args, {
    cwd: directory,
    encoding: 'utf8',
    env: gitEnv,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

/** Runs a script of the repository in a directory; returns its exit code and what it says. */
export function runScript(directory: string, script: string, args: readonly string[]) {
  const launcher = ['scripts/bundle-and-run.cjs', `scripts/${script}.ts`]
  try {
    const stdout = runIn(directory, process.execPath, [...launcher, ...args])
    return { code: 0, stdout, stderr: '' }
  } catch (thrown) {
    const { status, stdout, stderr } = thrown as { status: number; stdout: string; stderr: string }
    return { code: status, stdout, stderr }
  }
}

/**
 * A repository with the present files of this one that some paths of git name, in a single commit,
 * and the same packages.
 */
export function createScratchRepository(paths: readonly string[]): string {
  const directory = mkdtempSync(join(tmpdir(), 'scratch-repository-'))
  const listed = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--deduplicate']
  const deleted = new Set(runIn(root, 'git', ['ls-files', '-z', '--deleted']).split('\0'))
  for (const file of runIn(root, 'git', [...listed, '--', ...paths]).split('\0')) {
    if (file === '' || deleted.has(file)) continue
    mkdirSync(dirname(join(directory, file)), { recursive: true })
    cpSync(join(root, file), join(directory, file))
  }
  mkdirSync(join(directory, 'node_modules'))
  for (const name of runIn(join(root, 'node_modules'), 'ls', ['-A']).trim().split('\n')) {
    if (name === '.cache') continue
    symlinkSync(join(root, 'node_modules', name), join(directory, 'node_modules', name))
  }
  for (const args of [
    ['init', '--quiet'],
    ['add', '--all'],
    ['commit', '--quiet', '-m', 'All'],
  ]) {
    runIn(directory, 'git', args)
  }
  return directory
}
