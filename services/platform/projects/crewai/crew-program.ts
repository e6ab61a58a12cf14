import { depthOf, readLines } from './python-tokens.ts'
import type { Line, Token } from './python-tokens.ts'
import { readExpression } from './python-values.ts'
import type { Expression, PythonCall } from './python-values.ts'

/** A decorated method of a crew's class. */
export interface Method {
  readonly name: string
  /** Its decorators, without what is before their last dot. */
  readonly decorators: readonly string[]
  /** What it returns, when it does nothing else. */
  readonly returned?: Expression | undefined
}

/** What the class with `@CrewBase` of a Python program says. */
export interface CrewProgram {
  readonly className: string
  /** Its attributes that are literals, by name. */
  readonly attributes: ReadonlyMap<string, Expression>
  readonly methods: readonly Method[]
}

/** A program with a crew, and its file. */
export interface FoundProgram {
  readonly file: string
  readonly program: CrewProgram
}

/** Returns the class with `@CrewBase`, if the program has one. Raises what `readLines` raises. */
export function readCrewProgram(program: string): CrewProgram | undefined {
  const lines = readLines(program)
  const start = lines.findIndex(
    (line, index) =>
      wordsOf(line)[0] === 'class' && decoratorsBefore(lines, index).includes('CrewBase'),
  )
  const head = lines[start]
  if (!head) return undefined
  const body = blockOf(lines, start)
  return {
    className: wordsOf(head)[1] ?? '',
    attributes: new Map(body.flatMap((line) => attributeOf(line, body[0]?.indent) ?? [])),
    methods: body.flatMap((_, index) => methodAt(body, index) ?? []),
  }
}

const wordsOf = ({ tokens }: Line): string[] => tokens.map(({ text }) => text)

/** The lines behind a head that are further to the right. */
function blockOf(lines: readonly Line[], head: number): Line[] {
  const rest = lines.slice(head + 1)
  const end = rest.findIndex(({ indent }) => indent <= (lines[head]?.indent ?? 0))
  return end === -1 ? rest : rest.slice(0, end)
}

function decoratorsBefore(lines: readonly Line[], index: number): string[] {
  const names: string[] = []
  for (let at = index - 1; lines[at]?.tokens[0]?.text === '@'; at -= 1) {
    const name = (lines[at]?.tokens ?? []).slice(1)
    const end = name.findIndex(({ text }) => text === '(')
    names.push((end === -1 ? name : name.slice(0, end)).at(-1)?.text ?? '')
  }
  return names
}

/** `name = value` and `name: type = value`, not those of methods. */
function attributeOf(line: Line, indent?: number): [string, Expression][] | undefined {
  const [name, ...rest] = line.tokens
  if (line.indent !== indent || name?.kind !== 'name') return undefined
  const equals = rest.findIndex(({ text }) => text === '=')
  const isPlain = equals === 0 || (equals > 0 && rest[0]?.text === ':')
  return isPlain ? [[name.text, readExpression(rest.slice(equals + 1))]] : undefined
}

function methodAt(lines: readonly Line[], index: number): Method[] | undefined {
  const line = lines[index]
  const words = line ? wordsOf(line) : []
  const at = words[0] === 'async' ? 1 : 0
  const decorators = decoratorsBefore(lines, index)
  if (words[at] !== 'def' || decorators.length === 0) return undefined
  const [head = []] = splitAt(':', line?.tokens ?? [])
  const behind = line?.tokens.slice(head.length + 1) ?? []
  const body = [behind, ...blockOf(lines, index).map(({ tokens }) => tokens)]
  return [{ name: words[at + 1] ?? '', decorators, returned: returnedBy(body) }]
}

function returnedBy(body: readonly (readonly Token[])[]): Expression | undefined {
  const statements = body
    .flatMap((tokens) => splitAt(';', tokens))
    .filter((tokens) => !tokens.every(({ kind }) => kind === 'string'))
  const [only = []] = statements
  const isReturn = statements.length === 1 && only[0]?.text === 'return'
  return isReturn ? readExpression(only.slice(1)) : undefined
}

/** Splits tokens at a sign that is within no brackets. */
function splitAt(sign: string, tokens: readonly Token[]): Token[][] {
  const parts: Token[][] = [[]]
  let depth = 0
  for (const token of tokens) {
    depth += depthOf(token)
    if (depth === 0 && token.kind === 'sign' && token.text === sign) parts.push([])
    else parts.at(-1)?.push(token)
  }
  return parts
}

/** Returns the name of the method that `self.name()` calls. */
export function methodOf(expression: Expression): string | undefined {
  if (expression.kind !== 'call' || expression.positional.length > 0) return undefined
  return expression.named.length > 0 ? undefined : /^self\.(\w+)$/.exec(expression.name)?.[1]
}

/** Classes that only hold their arguments, with what tells them apart elsewhere. */
const RECORDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  LLM: {},
  MCPServerHTTP: {},
  MCPServerSSE: { transport: 'sse' },
  MCPServerStdio: {},
  create_static_tool_filter: { type: 'static' },
  StringKnowledgeSource: { source_type: 'string' },
  TextFileKnowledgeSource: { source_type: 'text_file' },
}

/** Returns an expression as the JSON of a crew.jsonc has it; code becomes `{python: …}`. */
export function toValue(expression: Expression): unknown {
  switch (expression.kind) {
    case 'value':
      return expression.value
    case 'list':
      return expression.items.map(toValue)
    case 'dict':
      return toRecord(expression.entries)
    case 'call':
      return fromCall(expression)
    case 'entry':
      return { python: `${expression.of}[…]` }
    case 'name':
      return /^Process\.(\w+)$/.exec(expression.name)?.[1] ?? { python: expression.name }
    case 'other':
      return { python: expression.text }
  }
}

function fromCall({ name, positional, named }: PythonCall): unknown {
  const last = name.slice(name.lastIndexOf('.') + 1)
  const record = Object.hasOwn(RECORDS, last) ? RECORDS[last] : undefined
  const [first, ...others] = positional
  const isModel = last === 'LLM' && first !== undefined && others.length === 0
  if (!record || (positional.length > 0 && !isModel)) {
    return { python: `${name}(${positional.length + named.length > 0 ? '…' : ''})` }
  }
  return { ...record, ...(isModel ? { model: toValue(first) } : {}), ...toRecord(named) }
}

const toRecord = (entries: readonly (readonly [string, Expression])[]): object =>
  Object.fromEntries(entries.map(([name, value]) => [name, toValue(value)]))
