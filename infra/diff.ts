import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isObject } from './template/json.ts'
import type { Manifest } from './template/manifests.ts'
import { show } from './template/validate.ts'

/** Describes what changed between manifests, object by object; empty when nothing did. */
export function describeChanges(former: readonly Manifest[], wanted: readonly Manifest[]): string {
  const [before, after] = [byIdentity(former), byIdentity(wanted)]
  const names = [...new Set([...before.keys(), ...after.keys()])].sort()
  return names.flatMap((name) => changeOf(name, before.get(name), after.get(name))).join('')
}

/** Reads the manifests of a directory. */
export async function readManifests(directory: string): Promise<readonly Manifest[]> {
  const { parseAllDocuments } = await import('yaml')
  const files = namesIn(directory).filter((name) => /\.ya?ml$/.test(name))
  const paths = files.toSorted().map((name) => join(directory, name))
  return paths.flatMap((path) =>
    parseAllDocuments(readFileSync(path, 'utf8')).flatMap((document) => {
      const [error] = document.errors
      if (error) throw new Error(`${path}: ${error.message}`)
      const object: unknown = document.toJS()
      return isObject(object) ? [object] : []
    }),
  )
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory)
  } catch (cause) {
    throw new Error(`cannot read ${directory}`, { cause })
  }
}

function byIdentity(manifests: readonly Manifest[]): ReadonlyMap<string, Manifest> {
  return new Map(
    manifests.map((manifest) => {
      const { kind, metadata } = manifest
      const { name } = isObject(metadata) ? metadata : {}
      // Names are unique over the namespaces; a move to another one is a change like any other.
      return [`${String(kind)} ${String(name)}`, manifest]
    }),
  )
}

function changeOf(name: string, before?: Manifest, after?: Manifest): readonly string[] {
  if (!before) return [`+ ${name}\n`]
  if (!after) return [`- ${name}\n`]
  const changes = differences(before, after, '')
  if (changes.length === 0) return []
  const isSecret = after['kind'] === 'Secret'
  const lines = changes.map(({ path, from, to }) =>
    isSecret && /^(data|stringData)\b/.test(path)
      ? `    ${path}: another value\n`
      : `    ${path}: ${shown(from)} → ${shown(to)}\n`,
  )
  return [`~ ${name}\n`, ...lines]
}

interface Change {
  readonly path: string
  readonly from: unknown
  readonly to: unknown
}

function differences(from: unknown, to: unknown, path: string): readonly Change[] {
  const [before, after] = [membersOf(from), membersOf(to)]
  if (!before || !after)
    return JSON.stringify(from) === JSON.stringify(to) ? [] : [{ path, from, to }]
  const keys = [...new Set([...before.keys(), ...after.keys()])]
  return keys.flatMap((key) =>
    differences(before.get(key), after.get(key), `${path}${key}`.replace(/^\./, '')),
  )
}

/**
 * The members of a map by key, and those of a list by name where they have one: a new container
 * shifts no other.
 */
function membersOf(value: unknown): ReadonlyMap<string, unknown> | undefined {
  if (isObject(value)) {
    return new Map(Object.entries(value).map(([key, member]) => [`.${key}`, member]))
  }
  if (!Array.isArray(value)) return undefined
  return new Map(
    value.map((member: unknown, index) => {
      const name = isObject(member) && typeof member['name'] === 'string' ? member['name'] : index
      return [`[${name}]`, member]
    }),
  )
}

function shown(value: unknown): string {
  if (value === undefined) return '(nothing)'
  const text = show(value)
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}
