import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: 'infra',
          include: ['test/infra/**/*.test.ts'],
          // Nothing here has a state: the files of one worker share the chart that the first of them rendered.
          isolate: false,
          benchmark: { include: [] },
        },
      },
      {
        extends: true,
        test: {
          name: 'services',
          include: ['test/**/*.test.ts'],
          exclude: ['test/infra/**'],
          globalSetup: ['test/support/global-setup.ts'],
          benchmark: { include: ['test/bench/**/*.bench.ts'] },
        },
      },
    ],
    testTimeout: 20_000,
    hookTimeout: 60_000,
    pool: 'forks',
    // Most tests wait for a database or a process, not for a core.
    maxWorkers: availableParallelism() + 1,
  },
})
