import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import type { Plugin } from 'esbuild'

const root = new URL('../..', import.meta.url)

/** Bundles the services into `<directory>/<service>/main.js`, as their images have them. */
export async function buildPrograms(directory: string): Promise<void> {
  const build = ['scripts/bundle-and-run.cjs', 'scripts/build.ts', '--out', directory]
  await promisify(execFile)(process.execPath, build, { cwd: root })
}

/** Lets a module find the files beside its source from wherever the bundle is. */
const sourceUrls: Plugin = {
  name: 'source-urls',
  setup(bundle) {
    bundle.onLoad({ filter: /\/services\/[^.]+\.ts$/ }, async ({ path }) => {
      const source = await readFile(path, 'utf8')
      const url = JSON.stringify(pathToFileURL(path).href)
      return { contents: source.replaceAll('import.meta.url', url), loader: 'ts' }
    })
  },
}

// Some packages are CommonJS, and call `require` for modules of Node.
const REQUIRE =
  "import { createRequire as requireOf } from 'node:module'; " +
  'const require = requireOf(import.meta.url);'

/**
 * Bundles a program of this repository into one file: it starts with a sixth of the work that
 * compiling its sources takes each time.
 */
export async function buildProgram(entryPoint: string, outfile: string): Promise<void> {
  await build({
    entryPoints: [entryPoint],
    absWorkingDir: root.pathname,
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    plugins: [sourceUrls],
    banner: { js: REQUIRE },
    logLevel: 'warning',
  })
}
