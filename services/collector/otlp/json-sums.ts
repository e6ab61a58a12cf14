import type { PromotedColumn, Source } from '../conventions/promoted-column.ts'
import { DOCUMENTS, ROW_ORDER } from './promoted-keys.ts'

/** Notes the value of a promoted column: a text, or a number, NaN for one that it cannot hold. */
type SetValue = (column: number, rank: number, value: number | string) => void

interface Sum {
  readonly column: number
  readonly rank: number
  readonly kind: PromotedColumn['kind']
  readonly paths: readonly (readonly string[])[]
}

/** By document, in the order of `DOCUMENTS`. */
const SUMS: readonly (readonly Sum[])[] = DOCUMENTS.map((document) =>
  ROW_ORDER.flatMap(({ kind, keys }, column) =>
    keys.flatMap((source, rank) => {
      const members = membersOf(source, document)
      const paths = members.map((member) => member.split('.'))
      return members.length > 0 ? [{ column, rank, kind, paths }] : []
    }),
  ),
)

function membersOf(source: Source, document: string): readonly string[] {
  if (typeof source === 'string' || source.json !== document) return []
  if ('text' in source) return [source.text]
  return 'member' in source ? [source.member, ...source.plus] : []
}

/** Tells of each column for which the text of a document has a value. */
export function readSums(document: number, text: string, set: SetValue): void {
  const root = parse(text)
  for (const { column, rank, kind, paths } of SUMS[document] ?? []) {
    const [member, ...plus] = paths.map((path) => memberAt(root, path))
    if (isAbsent(member)) continue
    if (kind === 'text') {
      if (typeof member === 'string' && member !== '') set(column, rank, member)
      continue
    }
    const values = [member, ...plus.filter((value) => !isAbsent(value))]
    set(column, rank, sumOf(values, kind === 'count'))
  }
}

const isAbsent = (value: unknown): boolean => value === undefined || value === null

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function memberAt(root: unknown, path: readonly string[]): unknown {
  let value = root
  for (const name of path) {
    if (typeof value !== 'object' || value === null) return undefined
    value = Object.getOwnPropertyDescriptor(value, name)?.value
  }
  return value
}

/** NaN when the column cannot hold one of them: a part of a sum would be a wrong number. */
function sumOf(values: readonly unknown[], isCount: boolean): number {
  let sum = 0
  for (const value of values) {
    if (typeof value !== 'number' || value < 0) return Number.NaN
    if (isCount && !Number.isSafeInteger(value)) return Number.NaN
    sum += value
  }
  return sum
}
