import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, relative } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer } from 'vitest/node'
import type { TestSpecification } from 'vitest/node'
import { ByRoom } from './test/support/by-room.ts'

/** Files that take the longest, in any order. */
const LONG = new Set([
  'test/docs/commands.test.ts',
  'test/infra/helm.test.ts',
  'test/infra/values.test.ts',
  'test/scripts/release.test.ts',
  'test/services/collector/crash.test.ts',
  'test/services/collector/memory-ceiling.test.ts',
  'test/services/local-oauth.test.ts',
  'test/services/local.test.ts',
  'test/services/shared/postgres/tls.test.ts',
  'test/services/tasks/backup/backup.test.ts',
  'test/services/tasks/tasks.test.ts',
  'test/services/verify/verify.test.ts',
  'test/services/web/console/accessibility.test.ts',
  'test/services/web/diagnostics/checks.test.ts',
  'test/services/worker/deployments/process-host.test.ts',
])

/**
 * Starts long files first, so that none of them is alone at the end. Vitest knows them only where
 * an earlier run has measured them, and else starts with those that have the most bytes.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number =>
      LONG.has(relative(this.ctx.config.root, moduleId)) ? 0 : 1
    const sorted = await super.sort(files)
    const projects = [...new Set(sorted.map(({ project }) => project))]
    return projects.flatMap((project) =>
      sorted.filter((file) => file.project === project).toSorted((a, b) => rank(a) - rank(b)),
    )
  }
}

/** `npm run test:long`: the files that have a longer form than in `npm test`, or no other one. */
const onlyLong = process.env['LONG_FORMS'] !== undefined
/** Those of its parts `browser` and `crews`. */
const OF_OTHERS = /console\/|browser|deployments\//

const withLongForms = (): string[] =>
  readdirSync('test', { recursive: true, encoding: 'utf8' })
    .map((path) => join('test', path))
    .filter((path) => path.endsWith('.test.ts') && !OF_OTHERS.test(path))
    .filter((path) =>
      /\.long\.test\.ts|support\/long\.ts'|'FUZZ_RUNS'/.test(path + readFileSync(path, 'utf8')),
    )

const infra = 'test/infra/**/*.test.ts'
/** What reads the sources alone; `npm run check` runs it too. */
const architecture = 'test/architecture{,/*}.test.ts'
const others = onlyLong ? withLongForms() : ['test/**/*.test.ts']
const skipped = onlyLong ? [] : ['**/*.long.test.ts']

/**
 * A statement on Citus takes several times as long, and so does making its databases; long forms try
 * many times as much.
 */
const slowness = process.env['CITUS_DATABASE_URL'] || onlyLong ? 6 : 1

export default defineConfig({
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: 'architecture',
          include: onlyLong ? [] : [architecture],
          sequence: { groupOrder: 0 },
          maxWorkers: availableParallelism(),
          benchmark: { include: [] },
        },
      },
      {
        extends: true,
        test: {
          name: 'infra',
          include: onlyLong ? others.filter((path) => path.startsWith('test/infra/')) : [infra],
          exclude: skipped,
          // They wait for nothing, and go first: what one worker has rendered, its next files read.
          maxWorkers: availableParallelism(),
          sequence: { groupOrder: 0 },
          globalSetup: ['test/support/temporary-files.ts'],
          benchmark: { include: [] },
        },
      },
      {
        extends: true,
        test: {
          name: 'services',
          include: others,
          exclude: [infra, architecture, ...skipped],
          sequence: { groupOrder: 1 },
          globalSetup: ['test/support/temporary-files.ts', 'test/support/global-setup.ts'],
          benchmark: { include: ['test/bench/**/*.bench.ts'] },
        },
      },
    ],
    reporters: [new ByRoom(), ...(process.env['GITHUB_ACTIONS'] ? ['github-actions'] : [])],
    setupFiles: ['test/support/watch-files.ts'],
    // What an earlier run has compiled is read again, not compiled.
    experimental: { fsModuleCache: true },
    // Waiting ends with the event; these end what hangs, on a machine that others keep busy too.
    testTimeout: 180_000 * slowness,
    hookTimeout: 180_000 * slowness,
    expect: { poll: { timeout: 60_000 * slowness } },
    pool: 'forks',
    // Importing a file does nothing, so the test files of one worker may share what the first of
    // them imported.
    isolate: false,
    // Most tests wait for a database or a process, not for a core. One more worker takes three
    // seconds of a core for its imports.
    maxWorkers: availableParallelism() + 4,
    sequence: { sequencer: LongestFirst },
  },
})
