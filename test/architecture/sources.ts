import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

/** The folder of the repository. */
export const root = new URL('../..', import.meta.url).pathname

/** The folders with TypeScript. */
export const ROOMS = ['infra', 'scripts', 'services', 'test']

/** Lists the files of a folder, and of those within, by their kind. */
export function sources(folder: string, kind = /\.ts$/): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => kind.test(name))
    .map((name) => join(folder, name))
}

/** What a file takes of another one. */
export interface Import {
  readonly from: string
  readonly to: string
  readonly isTypeOnly: boolean
}

const IMPORT = /^(?:import|export) (type )?(?:[^'";]*? from )?'(\.[^']+)'/gms

function importsOf(file: string): Import[] {
  const text = readFileSync(join(root, file), 'utf8')
  return [...text.matchAll(IMPORT)].map(([, type, path = '']) => ({
    from: file,
    to: normalize(join(dirname(file), path)),
    isTypeOnly: type !== undefined,
  }))
}

/** The files with TypeScript. */
export const files = ROOMS.flatMap((room) => sources(room))
/** All imports between them. */
export const imports = files.flatMap(importsOf)

/** Reads the lines of a file. */
export function linesOf(file: string): string[] {
  return readFileSync(join(root, file), 'utf8').split('\n')
}

/** Lists what the group of a pattern finds in a text. */
export function matches(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, found = '']) => found)
}
