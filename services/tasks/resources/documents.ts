import * as v from 'valibot'
import { isMap, isNode, isScalar, isSeq, LineCounter, parseAllDocuments } from 'yaml'
import type { Document as YamlDocument, Node, Pair } from 'yaml'
import { didYouMean } from '../../shared/closest.ts'
import { toError } from '../../shared/errors.ts'
import { isObject } from '../../shared/is-object.ts'
import type { Place, Problem } from './problems.ts'
import type { SourceFile } from './read-files.ts'

const DOCUMENTS_MAX = 10_000
/** Uses of anchors in a document. */
const ALIASES_MAX = 100
const KEYS = ['kind', 'name', 'parent', 'spec']
const NAME_LENGTH_MAX = 2000
const NO_TEXT = 'Write a text here; put quotes around a number.'

const words = v.pipe(
  v.string(NO_TEXT),
  v.minLength(1, 'It is empty.'),
  v.maxLength(NAME_LENGTH_MAX, `It has more than ${NAME_LENGTH_MAX} characters.`),
)
const form = v.strictObject({
  kind: words,
  name: words,
  parent: v.optional(words),
  spec: v.optional(
    v.pipe(
      v.unknown(),
      // A list is a record to valibot.
      v.check(isObject, 'Write the fields here, one a line.'),
      v.record(v.string(), v.unknown(), 'Write the fields here, one a line.'),
    ),
    {},
  ),
})

/** What is wanted of one row. */
export interface WantedDocument {
  readonly kind: string
  readonly name: string
  readonly parent: string | undefined
  readonly spec: Readonly<Record<string, unknown>>
  /** Returns where a field of `spec` is, or another key; of one that is not there, the document. */
  readonly at: (...keys: readonly string[]) => Place
}

interface Read {
  readonly documents: WantedDocument[]
  readonly problems: Problem[]
}

/** Reads the documents of files. */
export function readDocuments(files: readonly SourceFile[]): Read {
  const read = files.map(readFile)
  const documents = read.flatMap((each) => each.documents)
  const problems = read.flatMap((each) => each.problems)
  if (documents.length <= DOCUMENTS_MAX) return { documents, problems }
  const message = `There are ${documents.length} documents; at most ${DOCUMENTS_MAX} are applied.`
  return { documents: [], problems: [{ message }] }
}

function readFile({ path: file, text }: SourceFile): Read {
  const lines = new LineCounter()
  const documents: WantedDocument[] = []
  const problems: Problem[] = []
  let all: readonly YamlDocument.Parsed[]
  try {
    const options = { lineCounter: lines, prettyErrors: false, uniqueKeys: true }
    const parsed = parseAllDocuments(text, options)
    all = Array.isArray(parsed) ? parsed : []
  } catch (thrown) {
    const message = `This is not valid YAML: ${toError(thrown).message}`
    return { documents, problems: [{ file, message }] }
  }
  for (const parsed of all) {
    const [mistake] = [...parsed.errors, ...parsed.warnings]
    const place = (offset: number): Place => {
      const { line, col } = lines.linePos(offset)
      return { file, line, column: col }
    }
    if (mistake) {
      const message = `This is not valid YAML: ${mistake.message.split('\n', 1)[0]}`
      problems.push({ ...place(mistake.pos[0]), message })
    } else {
      for (const [node, value] of writtenIn(parsed)) {
        const at = (...keys: readonly string[]) => place(offsetOf(node, keys))
        const read = readDocument(value, at)
        if ('problems' in read) problems.push(...read.problems)
        else documents.push(read)
      }
    }
  }
  return { documents, problems }
}

/** Returns one document, each of a list of them, or none where there are only comments. */
function writtenIn(parsed: YamlDocument.Parsed): readonly (readonly [Node, unknown])[] {
  const { contents } = parsed
  if (contents === null || (isScalar(contents) && contents.value === null)) return []
  const value = toValue(parsed)
  if (!isSeq(contents) || !Array.isArray(value)) return [[contents, value]]
  // What was parsed has nodes as items.
  return contents.items.filter(isNode).map((node, index) => [node, value[index]])
}

/** Finds where a key is written, or what it is in. */
function offsetOf(document: Node, keys: readonly string[]): number {
  let offset = document.range?.[0] ?? 0
  let node: Node | null = document
  for (const key of keys) {
    if (!isMap(node)) break
    const pair: Pair | undefined = node.items.find(
      (each) => isScalar(each.key) && each.key.value === key,
    )
    if (!pair || !isScalar(pair.key)) break
    offset = pair.key.range?.[0] ?? offset
    // What was parsed has nodes as values.
    node = pair.value instanceof Object && 'range' in pair.value ? (pair.value as Node) : null
  }
  return offset
}

function readDocument(
  given: unknown,
  at: WantedDocument['at'],
): WantedDocument | { problems: Problem[] } {
  if (given instanceof Error || !isObject(given)) {
    const message =
      given instanceof Error ? given.message : 'A document has kind, name, parent and spec.'
    return { problems: [{ ...at(), message }] }
  }
  const read = v.safeParse(form, given)
  if (read.success) {
    const { parent, ...rest } = read.output
    return { ...rest, parent, at }
  }
  const problems = read.issues.map((issue) => {
    const [field = ''] = (v.getDotPath(issue) ?? '').split('.')
    return { ...at(field), field, message: describe(issue, field) }
  })
  return { problems }
}

function describe({ type, expected, message }: v.BaseIssue<unknown>, field: string): string {
  if (type !== 'strict_object') return message
  return expected === 'never' ? `It is not known.${didYouMean(field, KEYS)}` : 'It is required.'
}

/** Returns the value of what is written, or the error that says why it has none. */
function toValue(parsed: YamlDocument.Parsed): unknown {
  try {
    return parsed.toJS({ maxAliasCount: ALIASES_MAX })
  } catch (thrown) {
    return new Error(`Its aliases or its depth are too much: ${toError(thrown).message}`)
  }
}
