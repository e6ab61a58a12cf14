import { execFile } from 'node:child_process'
import { mkdir, readFile, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const ROOT = new URL('../..', import.meta.url).pathname
const MIGRATIONS = ['services/platform/migrations', 'services/collector/migrations']

/** The programs of one release, as its images have them. */
export interface Release {
  readonly name: string
  /** Has `<service>/main.js` for each service. */
  readonly programs: string
}

async function git(...args: readonly string[]): Promise<string> {
  return (await run('git', args, { cwd: ROOT })).stdout.trim()
}

/** Finds the commit before the newest migration, or before the baseline where there is none. */
export async function findFormerCommit(): Promise<string> {
  const options = ['-1', '--format=%H', '--no-renames', '--diff-filter=A']
  const added = await git('log', ...options, '--', ...MIGRATIONS)
  if (added === '') throw new Error('no commit added a migration; name a release with --from')
  return git('rev-parse', `${added}^`)
}

/** Bundles the programs of the working tree. */
export async function buildThis(directory: string): Promise<Release> {
  const programs = join(directory, 'this')
  await build(ROOT, programs)
  return { name: 'this', programs }
}

/**
 * Bundles the programs of another commit, in a work tree that is removed afterwards. It takes the
 * packages that are installed here, and says so where its lockfile asks for others.
 */
export async function buildFormer(
  directory: string,
  ref: string,
  say: (text: string) => void,
): Promise<Release> {
  const tree = join(directory, 'tree')
  const programs = join(directory, 'former')
  await mkdir(directory, { recursive: true })
  await git('worktree', 'add', '--detach', '--quiet', tree, ref)
  try {
    const lockfiles = await Promise.all([ROOT, tree].map(readLockfile))
    if (lockfiles[0] !== lockfiles[1]) {
      say('its lockfile differs from the one here; it runs with the packages that are installed')
    }
    await symlink(join(ROOT, 'node_modules'), join(tree, 'node_modules'))
    await build(tree, programs)
  } finally {
    await rm(join(tree, 'node_modules'), { force: true })
    await git('worktree', 'remove', '--force', tree)
  }
  return { name: ref.slice(0, 12), programs }
}

const readLockfile = (tree: string): Promise<string> =>
  readFile(join(tree, 'package-lock.json'), 'utf8')

async function build(tree: string, out: string): Promise<void> {
  await run('npm', ['run', '--silent', 'build', '--', '--out', out], { cwd: tree })
}
