import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: [],
    testTimeout: 20_000,
    hookTimeout: 60_000,
    pool: 'forks',
    benchmark: { include: ['test/bench/**/*.bench.ts'] },
  },
})
