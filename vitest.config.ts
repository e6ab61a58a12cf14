import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    testTimeout: 20_000,
    hookTimeout: 60_000,
    pool: 'forks',
    // Most tests wait for a database or a process, not for a core.
    maxWorkers: availableParallelism() + 1,
    benchmark: { include: ['test/bench/**/*.bench.ts'] },
  },
})
