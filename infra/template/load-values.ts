import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { extname, resolve } from 'node:path'
import { compileFunction } from 'node:vm'
import { isObject } from './json.ts'
import { readYaml } from './read-yaml.ts'

/** Reads a file of values: YAML, JSON, or a TypeScript module with one exported object. */
export async function loadValuesFile(path: string): Promise<unknown> {
  const source = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw new Error(`cannot read ${path}`, { cause })
  })
  switch (extname(path)) {
    case '.yaml':
    case '.yml':
    case '.json':
      return readYaml(path, source)
    case '.ts':
    case '.mts':
    case '.js':
    case '.mjs':
      return importModule(path)
    default:
      throw new Error(`${path}: a file of values is .yaml, .json or .ts`)
  }
}

async function importModule(path: string): Promise<unknown> {
  // Loaded on demand: the default values do not need it.
  const { build } = await import('esbuild')
  const { outputFiles } = await build({
    entryPoints: [resolve(path)],
    bundle: true,
    packages: 'external',
    platform: 'node',
    // Programs that V8 has kept cannot import what they did not know.
    format: 'cjs',
    write: false,
    logLevel: 'silent',
  }).catch((cause: unknown) => {
    throw new Error(`${path}: ${messageOf(cause)}`, { cause })
  })
  const code = outputFiles[0]?.text ?? ''
  const module: { exports: unknown } = { exports: {} }
  try {
    const run = compileFunction(code, ['exports', 'require', 'module'], { filename: path })
    run(module.exports, createRequire(resolve(path)), module)
  } catch (cause) {
    throw new Error(`${path}: ${messageOf(cause)}`, { cause })
  }
  const { exports } = module
  const [exported, ...others] = isObject(exports) ? Object.values(exports) : []
  if (!isObject(exported) || others.length > 0) {
    throw new Error(`${path}: a module of values exports exactly one object`)
  }
  return exported
}

const messageOf = (cause: unknown): string =>
  cause instanceof Error ? cause.message : String(cause)
