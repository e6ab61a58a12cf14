import { existsSync, readdirSync, watch as watchDirectory } from 'node:fs'
import type { FSWatcher } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { register } from 'tsx/cjs/api'
import { describeChanges } from './diff.ts'
import { replaceDirectory } from './output.ts'
import type * as Render from './render.ts'
import type { Release, Rendering } from './render.ts'
import { loadValuesFile } from './template/load-values.ts'

/** What is rendered again after each change, and where it is written. */
export interface Watched {
  /** The files of values. */
  readonly paths: readonly string[]
  readonly release: Release
  readonly out: string
}

/** Editors write a file in several steps, each of which is an event. */
const SETTLE_MS = 10

/** What the chart is made of besides modules. */
const textFolders = (): readonly string[] =>
  ['infra/chart', 'infra/chart/tests']
    .concat(readdirSync('services').map((service) => `services/${service}/observability`))
    .filter((folder) => existsSync(folder))
    .map((folder) => resolve(folder))

const MANIFEST = resolve('package.json')

/**
 * Renders, and renders again after each change of a source or of a file of values; says what
 * changed in which object. A mistake is said, and the last good output stays. Returns once the
 * first rendering is written, and keeps the process running.
 */
export async function watch(watched: Watched): Promise<void> {
  const modules = createModules()
  const values = new Set(watched.paths.map((path) => resolve(path)))
  const render = createRender(watched, modules)
  const watchers = new Map<string, FSWatcher>()
  const changed = new Set<string>()
  let last = Promise.resolve()

  const isSource = (path: string): boolean =>
    path === MANIFEST || (dirname(path) !== resolve() && modules.folders().has(dirname(path)))

  const renderChanged = async (): Promise<void> => {
    const started = performance.now()
    const sources = [...changed].filter((path) => !values.has(path))
    changed.clear()
    sources.forEach(modules.forget)
    const tookMs = (): number => Math.round(performance.now() - started)
    watchFolders()
    const said = await render(sources.length > 0).then(
      (changes) => `${changes}${watched.out}: rendered in ${tookMs()} ms\n`,
      (thrown: unknown) => `${messageOf(thrown)}\n${watched.out}: not rendered\n`,
    )
    // Who reads that it is rendered may change a source at once.
    watchFolders()
    process.stdout.write(said)
  }

  const renderNext = (): void => {
    last = last.then(renderChanged)
  }

  const note = (path: string): void => {
    if (!values.has(path) && !isSource(path)) return
    if (changed.size === 0) setTimeout(renderNext, SETTLE_MS)
    changed.add(path)
  }

  function watchFolders(): void {
    const folders = new Set([...modules.folders(), ...[...values].map((path) => dirname(path))])
    for (const folder of folders) {
      if (watchers.has(folder)) continue
      const onEvent = (_: string, name: string | null): void => note(join(folder, name ?? ''))
      watchers.set(folder, watchDirectory(folder, onEvent))
    }
  }

  await renderChanged()
}

/** Creates the function that renders, writes, and returns what changed since it did so before. */
function createRender({ paths, release, out }: Watched, { load }: Modules) {
  let former: Rendering | undefined
  let renderer: ReturnType<typeof Render.createRenderer> | undefined
  return async (isNew: boolean): Promise<string> => {
    if (isNew) renderer = undefined
    const overrides = await Promise.all(paths.map(loadValuesFile))
    const { contextOf, createRenderer } = load()
    renderer ??= createRenderer()
    const rendering = renderer(contextOf(overrides, release, paths))
    const different = replaceDirectory(out, rendering.files)
    const changes = former ? describeChanges(former.manifests, rendering.manifests) : ''
    const chart = former ? different.filter((path) => path.startsWith('chart/')) : []
    former = rendering
    return `${changes}${chart.map((path) => `  ${path}\n`).join('')}`
  }
}

interface Modules {
  readonly load: () => typeof Render
  /** Forgets a module and what imports it, so that they are loaded again. */
  readonly forget: (path: string) => void
  /** The folders of the sources. */
  readonly folders: () => ReadonlySet<string>
}

/** Loads the sources as modules, of which those that did not change keep what V8 made of them. */
function createModules(): Modules {
  register()
  const require = createRequire(resolve('infra/main.ts'))
  const { cache } = require
  const forget = (path: string): void => {
    delete cache[path]
    for (const module of Object.values(cache)) {
      if (module?.children.some(({ id }) => id === path)) forget(module.id)
    }
  }
  // A module that does not load is in no cache: its folder stays one of the sources.
  const known = new Set(textFolders())
  const folders = (): ReadonlySet<string> => {
    const own = Object.keys(cache).filter((path) => !path.includes('node_modules'))
    return own.reduce((all, path) => all.add(dirname(path)), known)
  }
  return { load: () => require('./render.ts'), forget, folders }
}

const messageOf = (thrown: unknown): string =>
  thrown instanceof Error ? thrown.message : String(thrown)
