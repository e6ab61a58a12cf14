import * as v from 'valibot'
import { AppError } from '../../shared/errors.ts'
import type { Api } from './api.ts'
import type { Kind, ParentKind } from './kinds.ts'

const PAGE = 100
const PAGES_MAX = 1000

/** A row of a kind, as the API answers it. */
export interface RemoteRow {
  readonly id: string
  readonly version: string
  readonly values: Readonly<Record<string, unknown>>
}

/** What rows belong to. */
export interface Owner {
  readonly id: string
  readonly name: string
}

const id = v.pipe(v.union([v.string(), v.number()]), v.transform(String))
const row = v.looseObject({ id, version: v.string() })
const page = v.looseObject({ next_cursor: v.nullish(v.string()) })
const items = v.array(v.record(v.string(), v.unknown()))

/** What the platform has now; each list is asked for once. */
export type State = ReturnType<typeof createState>

/** Creates what reads the rows of a platform and their parents. */
export function createState(api: Api) {
  const lists = new Map<string, Promise<readonly RemoteRow[]>>()
  const parents = new Map<string, Promise<readonly Owner[]>>()

  async function readRows(kind: Kind, path: string): Promise<readonly RemoteRow[]> {
    const answer = await api(path)
    return readAs(v.array(v.unknown()), listOf(answer, kind.list)).map(toRow)
  }

  async function readOwners({ path, list, ...names }: ParentKind): Promise<readonly Owner[]> {
    const owners: Owner[] = []
    let cursor: string | null = ''
    for (let pages = 0; cursor !== null && pages < PAGES_MAX; pages++) {
      const after = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`
      const answer = await api(`${path}?limit=${PAGE}${after}`)
      for (const item of readAs(items, listOf(answer, list))) {
        owners.push({ id: readAs(id, item[names.id]), name: readAs(id, item[names.name]) })
      }
      cursor = readAs(page, answer).next_cursor ?? null
    }
    return owners
  }

  return {
    /** Returns the rows of a kind, of a parent where it has one. */
    rows: (kind: Kind, owner: Owner | undefined): Promise<readonly RemoteRow[]> => {
      const path = pathOf(kind, owner?.id)
      return cached(lists, path, () => readRows(kind, path))
    },
    /** Returns all that rows of a kind may belong to. */
    owners: (parent: ParentKind): Promise<readonly Owner[]> =>
      cached(parents, parent.path, () => readOwners(parent)),
  }
}

/** Returns the path of the list of a kind below its parent. */
export const pathOf = ({ path }: Kind, ownerId: string | undefined): string =>
  path.replace(/\{\w+\}/, encodeURIComponent(ownerId ?? ''))

/** Returns what files name a row by; undefined for one that they cannot name. */
export const nameOf = ({ identity }: Kind, { values }: RemoteRow): string | undefined =>
  readAs(v.nullable(id), values[identity]) ?? undefined

/** Reads a row of an answer. Raises `bad_gateway`. */
export function toRow(answer: unknown): RemoteRow {
  const { id: rowId, version, ...values } = readAs(row, answer)
  return { id: rowId, version, values }
}

function listOf(answer: unknown, name: string): unknown {
  return readAs(v.record(v.string(), v.unknown()), answer)[name]
}

function readAs<Output>(schema: v.GenericSchema<unknown, Output>, answer: unknown): Output {
  const parsed = v.safeParse(schema, answer)
  if (parsed.success) return parsed.output
  throw new AppError('bad_gateway', 'The platform answers otherwise than it describes.')
}

async function cached<Value>(
  values: Map<string, Promise<Value>>,
  key: string,
  read: () => Promise<Value>,
): Promise<Value> {
  const found = values.get(key) ?? read()
  values.set(key, found)
  return found
}
