import { FUNCTIONS, isTrue, print } from './go-functions.ts'
import type { Caller } from './go-functions.ts'

/**
 * An evaluator of the Go templates that the chart consists of: the actions and functions that occur there and no others, with
 * the meaning that Helm gives them. Written from their documentation and independent of the engine under test.
 */
export class GoTemplates {
  private readonly blocks = new Map<string, Block>()
  private readonly included = new WeakMap<object, Map<string, string>>()

  constructor(files: ReadonlyMap<string, string>) {
    for (const [name, source] of files) this.blocks.set(name, this.parse(name, source))
  }

  /** Renders one template with a root such as `{ Values, Release, Chart }`. */
  render(name: string, root: unknown): string {
    return this.run(name, root)
  }

  private run(name: string, dot: unknown): string {
    const block = this.blocks.get(name)
    if (!block) throw new Error(`no template ${name}`)
    const out: string[] = []
    const include = (other: string, at: unknown): string => this.include(other, at)
    execute(block, { dot, root: dot, variables: new Map(), out, include })
    return out.join('')
  }

  /** Templates have no side effects, so one that is included again with the same dot says the same. */
  private include(name: string, dot: unknown): string {
    if (typeof dot !== 'object' || dot === null) return this.run(name, dot)
    const texts = this.included.get(dot) ?? new Map<string, string>()
    this.included.set(dot, texts)
    const text = texts.get(name) ?? this.run(name, dot)
    texts.set(name, text)
    return text
  }

  private parse(name: string, source: string): Block {
    const parser = new Parser(name, tokenise(name, source))
    const block = parser.block([])
    for (const [defined, body] of parser.defined) this.blocks.set(defined, body)
    return block
  }
}

type Token = { readonly text: string } | { readonly action: string }

type Statement =
  | { readonly do: 'text'; readonly text: string }
  | { readonly do: 'print'; readonly value: Evaluate }
  | { readonly do: 'assign'; readonly name: string; readonly value: Evaluate }
  | {
      readonly do: 'each'
      readonly key: string
      readonly item: string
      readonly value: Evaluate
      readonly body: Block
    }
  | {
      readonly do: 'if' | 'with' | 'range'
      readonly value: Evaluate
      readonly yes: Block
      readonly no: Block
    }

type Block = readonly Statement[]
type Evaluate = (frame: Frame) => unknown

interface Frame extends Caller {
  readonly dot: unknown
  readonly root: unknown
  readonly variables: Map<string, unknown>
  readonly out: string[]
}

/** Splits text from actions; `{{-` and `-}}` take the white space beside them along. */
function tokenise(name: string, source: string): readonly Token[] {
  const tokens: Token[] = []
  let rest = source
  for (;;) {
    const start = rest.indexOf('{{')
    if (start < 0) return [...tokens, { text: rest }]
    const match = /^\{\{(-\s)?((?:"(?:[^"\\]|\\.)*"|[^"}])*?)(\s-)?\}\}/.exec(rest.slice(start))
    if (!match) throw new Error(`${name}: an action does not end: ${rest.slice(start, start + 40)}`)
    const [whole, trimsLeft, action = '', trimsRight] = match
    const text = rest.slice(0, start)
    tokens.push({ text: trimsLeft ? text.trimEnd() : text }, { action: action.trim() })
    rest = rest.slice(start + whole.length)
    if (trimsRight) rest = rest.trimStart()
  }
}

class Parser {
  readonly defined = new Map<string, Block>()
  private readonly name: string
  private readonly tokens: readonly Token[]
  private position = 0
  private ending = ''

  constructor(name: string, tokens: readonly Token[]) {
    this.name = name
    this.tokens = tokens
  }

  block(endings: readonly string[]): Block {
    const statements: Statement[] = []
    for (;;) {
      const token = this.tokens[this.position++]
      if (!token) {
        if (endings.length > 0) throw new Error(`${this.name}: ${endings.join(' or ')} is missing`)
        return statements
      }
      if ('text' in token) {
        if (token.text !== '') statements.push({ do: 'text', text: token.text })
        continue
      }
      const [keyword = ''] = token.action.split(' ')
      if (endings.includes(keyword)) {
        this.ending = token.action
        return statements
      }
      statements.push(...this.statement(keyword, token.action))
    }
  }

  private statement(keyword: string, action: string): Block {
    const rest = action.slice(keyword.length).trim()
    switch (keyword) {
      case 'if':
      case 'with':
        return [this.branch(keyword, rest)]
      case 'range':
        return [this.range(rest)]
      case 'define':
        this.defined.set(JSON.parse(rest) as string, this.block(['end']))
        return []
      default:
        return [assignment(action) ?? { do: 'print', value: compile(action) }]
    }
  }

  private range(rest: string): Statement {
    const entries = /^(\$\w+), (\$\w+) := (.*)$/s.exec(rest)
    if (!entries) return this.branch('range', rest)
    const [, key = '', item = '', value = ''] = entries
    return { do: 'each', key, item, value: compile(value), body: this.block(['end']) }
  }

  private branch(keyword: 'if' | 'with' | 'range', condition: string): Statement {
    const yes = this.block(['else', 'end'])
    const other = /^else(?: if (.*))?$/s.exec(this.ending)
    const no = !other ? [] : other[1] ? [this.branch('if', other[1])] : this.block(['end'])
    return { do: keyword, value: compile(condition), yes, no }
  }
}

function assignment(action: string): Statement | undefined {
  const [, name, value] = /^(\$\w+) :?= (.*)$/s.exec(action) ?? []
  return name && value ? { do: 'assign', name, value: compile(value) } : undefined
}

function execute(block: Block, frame: Frame): void {
  for (const statement of block) {
    if (statement.do === 'text') frame.out.push(statement.text)
    else if (statement.do === 'print') frame.out.push(print(statement.value(frame)))
    else if (statement.do === 'assign') frame.variables.set(statement.name, statement.value(frame))
    else if (statement.do === 'each') executeEach(statement, frame)
    else executeBranch(statement, frame)
  }
}

function executeEach(
  { key, item, value, body }: Extract<Statement, { do: 'each' }>,
  frame: Frame,
): void {
  const entries = Object.entries(value(frame) ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))
  for (const [name, member] of entries) {
    const variables = new Map([...frame.variables, [key, name], [item, member]])
    execute(body, { ...frame, variables })
  }
}

function executeBranch(statement: Extract<Statement, { yes: Block }>, frame: Frame): void {
  const value = statement.value(frame)
  if (!isTrue(value)) execute(statement.no, frame)
  else if (statement.do === 'if') execute(statement.yes, frame)
  else if (statement.do === 'with') execute(statement.yes, { ...frame, dot: value })
  else if (Array.isArray(value)) for (const dot of value) execute(statement.yes, { ...frame, dot })
}

/** `and` and `or` look at no argument behind the one that decides. */
const STOPS: ReadonlyMap<string, (value: unknown) => boolean> = new Map([
  ['and', (value: unknown) => !isTrue(value)],
  ['or', isTrue],
])

function firstOf(
  args: readonly Evaluate[],
  frame: Frame,
  stops: (value: unknown) => boolean,
): unknown {
  let value: unknown
  for (const argument of args) {
    value = argument(frame)
    if (stops(value)) return value
  }
  return value
}

/** Compiles the pipeline inside an action. */
function compile(source: string): Evaluate {
  const words = source.match(/"(?:[^"\\]|\\.)*"|[()|]|[^\s()|]+/g) ?? []
  let position = 0

  function pipeline(): Evaluate {
    let value = command(undefined)
    while (words[position] === '|') {
      position += 1
      value = command(value)
    }
    return value
  }

  function command(piped: Evaluate | undefined): Evaluate {
    const word = words[position] ?? ''
    const fn = FUNCTIONS[word]
    if (!fn) {
      if (piped) throw new Error(`${word} is not a function`)
      return operand()
    }
    position += 1
    const args: Evaluate[] = []
    while (position < words.length && words[position] !== '|' && words[position] !== ')')
      args.push(operand())
    if (piped) args.push(piped)
    const stops = STOPS.get(word)
    if (stops) return (frame) => firstOf(args, frame, stops)
    return (frame) => fn(frame, ...args.map((argument) => argument(frame)))
  }

  function operand(): Evaluate {
    const word = words[position++] ?? ''
    if (word === '(') {
      const inner = pipeline()
      if (words[position++] !== ')') throw new Error(`a parenthesis is missing in ${source}`)
      return inner
    }
    return atom(word)
  }

  const value = pipeline()
  if (position !== words.length) throw new Error(`${words[position]} is too much in ${source}`)
  return value
}

function atom(word: string): Evaluate {
  if (word.startsWith('"') || /^(-?\d+(\.\d+)?(e\d+)?|true|false)$/.test(word)) {
    const value: unknown = JSON.parse(word)
    return () => value
  }
  if (word === '.') return ({ dot }) => dot
  if (word === '$') return ({ root }) => root
  if (/^\$\w+$/.test(word)) return ({ variables }) => variables.get(word)
  const path = /^(\$?)((?:\.\w+)+)$/.exec(word)
  if (!path) throw new Error(`${word} is not in this dialect`)
  const [, root, steps = ''] = path
  const keys = steps.slice(1).split('.')
  return (frame) => keys.reduce(member, root ? frame.root : frame.dot)
}

function member(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null) throw new Error(`.${key} of ${String(value)}`)
  return Object.hasOwn(value, key) ? (value as Readonly<Record<string, unknown>>)[key] : undefined
}
