import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { git, gitSucceeds } from './git.ts'
import { readOptions } from './read-options.ts'
import { dateRelease } from './release/changelog.ts'
import { staleVersions } from './release/stale-versions.ts'
import { readVersions, writeVersions } from './release/versions.ts'
import type { Versions } from './release/versions.ts'

const USAGE = `Usage: npm run release -- [options]

Makes a release of the working tree: sets the versions, dates the changelog, renders dist/,
commits and tags. Pushes nothing. A version that is not given stays as it is.

  --platform VERSION    version of the platform and of its image; the tag is v<VERSION>
  --chart VERSION       version of the Helm chart
  --collector VERSION   version of the collector's image
  --dry-run             show what the commit would change, and undo it
  --help                this text
`

/** Throws unless a release can be made of this tree under these versions. */
function checkTree(versions: Versions): void {
  const changed = git('status', '--porcelain')
  if (changed !== '') throw new Error(`commit or stash your changes first:\n${changed}`)
  for (const [name, version] of Object.entries(versions)) {
    if (/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)) continue
    throw new Error(`--${name} ${version}: a version is three numbers with dots, such as 1.14.0`)
  }
  if (gitSucceeds('rev-parse', '--verify', '--quiet', `refs/tags/v${versions.platform}`)) {
    throw new Error(`v${versions.platform} is released already: give --platform the next version`)
  }
}

/** Changes the working tree. Throws when a version stays although what it delivers has changed. */
function prepare(versions: Versions): void {
  writeVersions(versions)
  const today = new Date().toISOString().slice(0, 10)
  const changelog = readFileSync('CHANGELOG.md', 'utf8')
  writeFileSync('CHANGELOG.md', dateRelease(changelog, versions, today))
  execFileSync('npm', ['run', '--silent', 'synth'], { stdio: ['ignore', 'ignore', 'inherit'] })
  git('add', '--all')
  const stale = staleVersions(versions)
  if (stale.length > 0) throw new Error(stale.join('\n'))
}

function commit({ platform, chart, collector }: Versions): string {
  const body = `The image of the platform ${platform}, chart ${chart}, collector ${collector}.`
  git('commit', '--quiet', '--message', `Release ${platform}`, '--message', body)
  git('tag', '--annotate', '--message', body, `v${platform}`)
  const next = 'Next: git push --follow-tags, then docs/releasing.md.'
  return `Committed and tagged v${platform}. ${next}\n`
}

/** Makes the release, or only shows it; undoes every change if it cannot. Returns what to print. */
function release(versions: Versions, isDryRun: boolean): string {
  checkTree(versions)
  try {
    prepare(versions)
    return isDryRun ? `${git('diff', '--cached', '--stat')}\n` : commit(versions)
  } finally {
    // After a commit this changes nothing.
    git('reset', '--quiet', '--hard')
  }
}

function main(): void {
  const type = 'string'
  const options = readOptions(USAGE, {
    options: {
      platform: { type },
      chart: { type },
      collector: { type },
      'dry-run': { type: 'boolean' },
      help: { type: 'boolean' },
    },
  })
  if (!options) return
  const { 'dry-run': isDryRun = false, help: _, ...given } = options.values
  process.stdout.write(release({ ...readVersions(), ...given }, isDryRun))
}

try {
  main()
} catch (thrown) {
  process.stderr.write(`${thrown instanceof Error ? thrown.message : String(thrown)}\n`)
  process.exitCode = 1
}
