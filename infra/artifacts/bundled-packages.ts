import { readFileSync } from 'node:fs'

/** A package whose code is in a bundle. */
export interface BundledPackage {
  readonly name: string
  readonly version: string
  readonly license: string | undefined
  /** As the lockfile has it: an algorithm and a digest in Base64. */
  readonly integrity: string | undefined
}

interface Lock {
  readonly packages: Readonly<Record<string, LockedPackage | undefined>>
}

interface LockedPackage {
  readonly version: string
  readonly license?: string
  readonly integrity?: string
}

/**
 * Returns the packages whose code is in the bundles of some programs, by their source maps. Raises
 * when a program has not been built, or holds a package that is not locked.
 */
export function packagesIn(programs: readonly string[], build: string): readonly BundledPackage[] {
  const { packages }: Lock = JSON.parse(readFileSync('package-lock.json', 'utf8'))
  const folders = new Set(
    programs.flatMap((program) => foldersIn(`${build}/${program}/main.js.map`)),
  )
  return [...folders].toSorted().map((folder) => {
    const locked = packages[folder]
    if (!locked) throw new Error(`package-lock.json does not have ${folder}: run npm ci.`)
    const { version, license, integrity } = locked
    return { name: folder.split('node_modules/').at(-1) ?? folder, version, license, integrity }
  })
}

const PACKAGE_FOLDER = /(?:node_modules\/(?:@[^/]+\/)?[^/]+\/?)+(?=\/)/

/** The folders of packages, such as `node_modules/hono`, from which a bundle has code. */
function foldersIn(file: string): readonly string[] {
  const { sources } = mapIn(file)
  return sources.flatMap((source) => {
    const [folder] = PACKAGE_FOLDER.exec(source) ?? []
    return folder === undefined ? [] : [folder]
  })
}

function mapIn(file: string): { readonly sources: readonly string[] } {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (cause) {
    throw new Error(`${file} cannot be read: run npm run build first.`, { cause })
  }
}
