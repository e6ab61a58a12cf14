import { execFileSync } from 'node:child_process'
import { cpSync } from 'node:fs'
import { join } from 'node:path'

const REQUIRE =
  "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);"

/** Bundles the collector of a checkout with the tools of this one; returns its program. */
export function buildCollector(checkout: string, directory: string): string {
  const main = join(directory, 'main.js')
  execFileSync('node_modules/.bin/esbuild', [
    join(checkout, 'services/collector/main.ts'),
    '--bundle',
    '--platform=node',
    '--target=node20',
    '--format=esm',
    `--banner:js=${REQUIRE}`,
    `--outfile=${main}`,
    '--log-level=warning',
  ])
  const migrations = join(checkout, 'services/collector/migrations')
  cpSync(migrations, join(directory, 'migrations'), { recursive: true })
  return main
}
