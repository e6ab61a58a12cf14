import { build } from 'esbuild'
import { existsSync, readdirSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { readOptions } from './read-options.ts'

const USAGE = `Usage: npm run build [-- options]

Bundles each service into DIR/<service>/main.js, with its migrations and assets beside it, as the
images have them.

  --out DIR    directory to write to (default: build)
  --help       this text
`

/** The folders that programs read when they run, and where each lies beside its bundle. */
const COPIED = {
  'platform/migrations': 'platform/migrations',
  'collector/migrations': 'collector/migrations',
  'web/console/frame/assets': 'web/assets',
  'web/console/automations/snippets': 'web/snippets',
  'web/console/send-traces/settings': 'web/settings',
}

// Some packages are CommonJS, and call `require` for modules of Node.
const REQUIRE =
  "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);"

/** The services that have a program of their own. */
const programs = (): string[] =>
  readdirSync('services')
    .map((service) => join('services', service, 'main.ts'))
    .filter(existsSync)

async function bundleServices(out: string): Promise<void> {
  await build({
    entryPoints: programs(),
    outbase: 'services',
    outdir: out,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    sourcemap: true,
    banner: { js: REQUIRE },
    logLevel: 'warning',
  })
  await Promise.all(
    Object.entries(COPIED).map(([from, to]) =>
      cp(join('services', from), join(out, to), { recursive: true }),
    ),
  )
}

const parsed = readOptions(USAGE, {
  options: { out: { type: 'string', default: 'build' }, help: { type: 'boolean' } },
})
// esbuild has said itself what is wrong.
if (parsed) bundleServices(parsed.values.out).catch(() => (process.exitCode = 1))
