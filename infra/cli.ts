import { parseArgs } from 'node:util'
import { describeChanges, readManifests } from './diff.ts'
import { explainValue } from './explain.ts'
import { differences, replaceDirectory } from './output.ts'
import { buildSources, contextOf, platformManifests, renderAll } from './render.ts'
import type { Release, Sources } from './render.ts'
import { loadValuesFile } from './template/load-values.ts'
import type { Watched } from './watch.ts'

const USAGE = `Usage: npm run synth [-- options]

Renders the Kubernetes manifests and the Helm chart.

  --values FILE     lay the values of a .ts, .yaml or .json file over the defaults; later files win
  --release NAME    name of the release (default: platform)
  --namespace NS    namespace of the release, which must exist (default: platform)
  --out DIR         directory to replace (default: dist)
  --watch           render again after each change of the sources and the values, until Ctrl-C, and
                    say what changed in which object
  --check           write nothing; fail when the directory is not what would be written
  --diff DIR        write nothing; say what would change in the manifests of a directory
  --explain KEY     say what a value means, what it may be, and which templates use it; list the
                    members of a group
  --help            this text
`

const OPTIONS = {
  values: { type: 'string', multiple: true },
  release: { type: 'string', default: 'platform' },
  namespace: { type: 'string', default: 'platform' },
  out: { type: 'string' },
  watch: { type: 'boolean', default: false },
  check: { type: 'boolean', default: false },
  diff: { type: 'string' },
  explain: { type: 'string' },
  help: { type: 'boolean', default: false },
} as const

interface Setting {
  readonly outDir: string
  /** Who runs it several times builds them once. @default buildSources */
  readonly sources?: () => Sources
}

/**
 * Runs the command line and returns the text to print. Everything is rendered before anything is
 * written.
 */
export async function run(
  args: readonly string[],
  { outDir, sources = buildSources }: Setting,
): Promise<string> {
  const options = parse(args)
  if (options.help) return USAGE
  if (options.explain !== undefined) return explainValue(options.explain, sources)
  const paths = options.values ?? []
  const out = options.out ?? outDir
  if (options.watch) return watchAndRender({ paths, release: releaseOf(options), out })
  const overrides = await Promise.all(paths.map(loadValuesFile))
  const context = contextOf(overrides, releaseOf(options), paths)
  if (options.diff !== undefined) {
    const changes = describeChanges(await readManifests(options.diff), platformManifests(context))
    return changes === '' ? `nothing would change in ${options.diff}\n` : changes
  }
  const files = renderAll(context, sources())
  if (options.check) return check(out, differences(out, files))
  replaceDirectory(out, files)
  return `${out}: ${files.size} files\n`
}

const releaseOf = (options: { release: string; namespace: string }): Release => ({
  name: options.release,
  namespace: options.namespace,
})

async function watchAndRender(watched: Watched): Promise<string> {
  // Loaded on demand: it brings a loader of modules.
  const { watch } = await import('./watch.ts')
  await watch(watched)
  return ''
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, strict: true }).values
  } catch (thrown) {
    throw new Error(`${thrown instanceof Error ? thrown.message : String(thrown)}\n\n${USAGE}`)
  }
}

function check(out: string, found: readonly string[]): string {
  if (found.length === 0) return `${out} is up to date\n`
  throw new Error(
    `${out} is stale; run npm run synth:\n${found.map((path) => `  - ${path}`).join('\n')}`,
  )
}
