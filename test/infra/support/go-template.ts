import { compileFunction } from 'node:vm'
import { createFunctions, isTrue, print } from './go-functions.ts'

/** Renders one template with a root such as `{ Values, Release, Chart }`. */
type RenderTemplate = (name: string, root: unknown) => string

type Block = (root: unknown) => string

/**
 * Compiles Go templates to JavaScript: the actions and functions that the chart uses and no others,
 * for machines without Helm. Raises an error for anything else. `helm.test.ts` proves the same
 * equality with Helm itself.
 */
export function compileTemplates(
  files: ReadonlyMap<string, string>,
  others: ReadonlyMap<string, string> = new Map(),
): RenderTemplate {
  const blocks = new Map<string, Block>()
  const render: RenderTemplate = (name, root) => {
    const block = blocks.get(name)
    if (!block) throw new Error(`no template ${name}`)
    return block(root)
  }
  const source = [...files].map(([name, text]) => translateFile(name, text)).join('\n')
  const file = (path: string): string => others.get(path) ?? ''
  const runtime = { blocks, isTrue, print, entriesOf, file, go: createFunctions(render) }
  compileFunction(source, Object.keys(runtime))(...Object.values(runtime))
  return render
}

/** The entries of a map in the order of its keys, as `range` visits them. */
const entriesOf = (map: object = {}): readonly (readonly [string, unknown])[] =>
  Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1))

const opening = (name: string): string =>
  `blocks.set(${name}, ($) => { const dot = $; let out = ''; let next;`
const CLOSING = 'return out });'

/**
 * Each action as JavaScript, and what ends its block. Scopes of variables are the same in both
 * languages.
 */
const ACTIONS: readonly (readonly [RegExp, (...parts: string[]) => string, string?])[] = [
  [/^define (".*")$/, opening, CLOSING],
  [/^if (.*)$/s, (value) => `if (isTrue(${translate(value)})) {`, '}'],
  [/^(else) if (.*)$/s, (_, value = '') => `} else if (isTrue(${translate(value)})) {`],
  [/^(else)$/, () => '} else {'],
  [/^with (.*)$/s, (value) => `if (isTrue(next = ${translate(value)})) { const dot = next`, '}'],
  [
    /^range (\$\w+), (\$\w+) := (.*)$/s,
    (key, item, map = '') => `entriesOf(${translate(map)}).forEach(([${key}, ${item}]) => {`,
    '})',
  ],
  [/^range (.*)$/s, (list) => `${translate(list)}.forEach((dot) => {`, '})'],
  [/^(\$\w+) := (.*)$/s, (name, value = '') => `let ${name} = ${translate(value)}`],
  [/^(\$\w+) = (.*)$/s, (name, value = '') => `${name} = ${translate(value)}`],
]

/** A file as the definition of a block; what it defines itself stands before it. */
function translateFile(name: string, source: string): string {
  const [defined, body, ends]: [string[], string[], string[]] = [[], [], []]
  for (const [index, piece] of pieces(source).entries()) {
    const isText = index % 2 === 0
    const isDefined = piece.startsWith('define ') || ends.includes(CLOSING)
    const code = isText ? `out += ${JSON.stringify(piece)}` : translateAction(piece, ends)
    ;(isDefined ? defined : body).push(code)
  }
  return [...defined, opening(JSON.stringify(name)), ...body, CLOSING].join('\n')
}

function translateAction(action: string, ends: string[]): string {
  if (action === 'end') return ends.pop() ?? '}'
  for (const [pattern, write, end] of ACTIONS) {
    const [, ...parts] = pattern.exec(action) ?? []
    if (parts.length === 0) continue
    if (end) ends.push(end)
    return write(...parts)
  }
  return `out += print(${translate(action)})`
}

/** Texts and actions in turns; `{{-` and `-}}` take the white space beside them along. */
const pieces = (source: string): readonly string[] =>
  source
    .replaceAll(/\{\{\/\*[^]*?\*\/\}\}/g, '')
    .replaceAll(/\s*\{\{-(?=\s)/g, '{{')
    .replaceAll(/(?<=\s)-\}\}\s*/g, '}}')
    .split(/\{\{\s*((?:"(?:[^"\\]|\\.)*"|[^"}])*?)\s*\}\}/)

/** The pipeline inside an action as JavaScript. */
function translate(source: string): string {
  const words = source.match(/"(?:[^"\\]|\\.)*"|[()|]|[^\s()|]+/g) ?? []
  const pipeline = (): string => {
    let value = command([])
    while (words[0] === '|' && words.shift()) value = command([value])
    return value
  }
  const command = (piped: readonly string[]): string => {
    if (words[0]?.endsWith('.Files.Get') && words.shift()) return `file(${operand()})`
    if (!/^(?!(?:true|false)$)[a-z]\w*$/.test(words[0] ?? '')) return operand()
    const name = words.shift()
    const args: string[] = []
    while (words.length > 0 && words[0] !== '|' && words[0] !== ')') args.push(operand())
    // These two compute no argument behind the one that decides.
    const lazily = name === 'and' || name === 'or' ? '() => ' : ''
    return `go.${name}(${[...args, ...piped].map((argument) => lazily + argument).join(', ')})`
  }
  const operand = (): string => {
    const word = words.shift() ?? ''
    if (word !== '(') return atom(word)
    const inner = pipeline()
    if (words.shift() !== ')') throw new Error(`a parenthesis is missing in ${source}`)
    return inner
  }
  const value = pipeline()
  if (words.length > 0) throw new Error(`${words[0]} is too much in ${source}`)
  return value
}

/**
 * Literals and variables are the same in both languages; a path begins at the dot, or at the root
 * with `$`.
 */
function atom(word: string): string {
  if (/^("|-?\d|true$|false$|\$\w*$)/.test(word)) return word
  if (word === '.') return 'dot'
  if (/^\$?(\.\w+)+$/.test(word)) return word.startsWith('$') ? word : `dot${word}`
  throw new Error(`${word} is not in this dialect`)
}
