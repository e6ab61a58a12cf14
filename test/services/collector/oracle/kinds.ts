import {
  BARE_CALL,
  ENTITY_COLUMNS,
  NAMED_BY_SPAN,
  OPERATION_COLUMN,
  PROMOTED_COLUMNS,
  WORKFLOW,
} from '../../../../services/collector/conventions/columns.ts'
import {
  KIND_WORDS,
  KINDS_BY_NAME,
  OPERATION_KINDS,
} from '../../../../services/collector/conventions/kinds.ts'
import type { OperationKind } from '../../../../services/collector/conventions/kinds.ts'
import { COLUMN_NAMES, DOCUMENTS, ENTITY, SUMS, TEXTS } from './attribute-keys.ts'
import { isPromoted } from './attribute-index.ts'
import type { AttributeIndex } from './attribute-index.ts'
import { MAX_COLUMN_BYTES } from '../../../../services/collector/otlp/limits.ts'
import { findString } from './promoted-fields.ts'
import type { Tape } from './tape.ts'

const OPERATION = COLUMN_NAMES.indexOf(OPERATION_COLUMN)

/** The names of a span and of its scope. */
interface Names {
  readonly span: string
  readonly scope: string
}

/** Finds what follows from the attributes together; returns the kind of the span. */
export function completeSpan(
  tape: Tape,
  index: AttributeIndex,
  names: Names,
): OperationKind | undefined {
  for (const [document, key] of DOCUMENTS.entries()) {
    const text = textOf(tape, index, ENTITY + 1 + document)
    if (text !== undefined) readDocument(index, key, text)
  }
  const kind = kindOf(tape, index, names)
  adoptWorkflow(tape, index)
  adoptNames(index, kind, names.span)
  return kind
}

function adoptNames(index: AttributeIndex, kind: OperationKind | undefined, span: string): void {
  const column = COLUMN_NAMES.indexOf((kind && ENTITY_COLUMNS[kind]) ?? '')
  if (column >= 0 && isPromoted(index, ENTITY) && !isPromoted(index, column)) {
    index.rank[column] = 0
    index.isJson[column] = 0
    index.promotedFrom[column] = index.promotedFrom[ENTITY] ?? 0
    index.promotedEnd[column] = index.promotedEnd[ENTITY] ?? 0
  }
  const isNamed = index.rank[OPERATION] === OPERATION_KEYS.indexOf(NAMED_BY_SPAN)
  if (isNamed && column >= 0 && !isPromoted(index, column)) setText(index, column, [0, span])
}

const OPERATION_KEYS =
  PROMOTED_COLUMNS.find(({ column }) => column === OPERATION_COLUMN)?.keys ?? []

function setText(index: AttributeIndex, column: number, [rank, text]: [number, string]): void {
  if (text === '' || Buffer.byteLength(text) > MAX_COLUMN_BYTES) return
  if (rank > (index.rank[column] ?? 255)) return
  index.rank[column] = rank
  index.promotedEnd[column] = -1
  index.numbers[column] = Number.NaN
  index.texts.set(column, text)
}

function adoptWorkflow(tape: Tape, index: AttributeIndex): void {
  const [from, to] = [WORKFLOW.from, WORKFLOW.to].map((name) => COLUMN_NAMES.indexOf(name))
  if (from === undefined || to === undefined) return
  if (textOf(tape, index, OPERATION) !== WORKFLOW.word) return
  if (index.rank[from] !== 0 || isPromoted(index, to)) return
  index.rank[to] = index.rank[from] ?? 0
  index.isJson[to] = 0
  index.promotedFrom[to] = index.promotedFrom[from] ?? 0
  index.promotedEnd[to] = index.promotedEnd[from] ?? 0
  index.rank[from] = 255
}

function textOf(tape: Tape, index: AttributeIndex, column: number): string | undefined {
  if (!isPromoted(index, column)) return undefined
  const end = findString(tape, index, column)
  return end < 0 ? undefined : tape.src.toString('utf8', tape.at, end)
}

function kindOf(tape: Tape, index: AttributeIndex, names: Names): OperationKind | undefined {
  const word = textOf(tape, index, OPERATION)?.toLowerCase()
  if (!word) return kindOfName(names) ?? bareKind(index)
  return OPERATION_KINDS.find((kind) => KIND_WORDS[kind].includes(word)) ?? 'other'
}

function kindOfName({ span, scope }: Names): OperationKind | undefined {
  const names = KINDS_BY_NAME.find((one) => one.scope === scope)?.names ?? {}
  const isNamed = (name: string): boolean =>
    name.endsWith('*') ? span.startsWith(name.slice(0, -1)) : span === name
  return Object.entries(names).find(([name]) => isNamed(name))?.[1]
}

function bareKind(index: AttributeIndex): OperationKind | undefined {
  const hasAny = (columns: readonly string[]): boolean =>
    columns.some((column) => isPromoted(index, COLUMN_NAMES.indexOf(column)))
  return hasAny(BARE_CALL.models) && hasAny(BARE_CALL.tokens) ? BARE_CALL.kind : undefined
}

function readDocument(index: AttributeIndex, key: string, text: string): void {
  const root = parse(text)
  for (const { column, rank, members } of SUMS.get(key) ?? []) {
    const found = members.map((path) => path.split('.').reduce<unknown>(memberOf, root) ?? null)
    const values = found.filter((value) => value !== null)
    if (found[0] === null || rank > (index.rank[column] ?? 255)) continue
    index.rank[column] = rank
    index.promotedEnd[column] = -1
    index.numbers[column] = sum(values)
    index.texts.delete(column)
  }
  for (const { column, rank, member } of TEXTS.filter((one) => one.key === key)) {
    const value = memberOf(root, member)
    if (typeof value === 'string') setText(index, column, [rank, value])
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null
    ? new Map<string, unknown>(Object.entries(value)).get(name)
    : undefined

function sum(values: readonly unknown[]): number {
  const isWrong = values.some((value) => typeof value !== 'number' || value < 0)
  return isWrong ? Number.NaN : values.map(Number).reduce((total, value) => total + value, 0)
}
