import { parseDocument } from 'yaml'
import { readPlainScalar } from '../../../infra/template/plain-scalar.ts'

/** Thrown for YAML that this reader leaves to a whole parser. */
class Beyond extends Error {}

/**
 * Reads the block style that templates render: maps and lists by indentation, scalars on one line, literal blocks. Ten times faster
 * than a whole parser, to which it leaves everything else. Scalars mean what they mean to kubectl and Helm, which is proven
 * against a table of go-yaml's own answers.
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

class Reader {
  private readonly lines: string[]
  private at = 0
  /** The next line with anything on it. */
  private text = ''
  /** How far that line is indented; -1 at the end. */
  private indent = -1

  constructor(lines: string[]) {
    this.lines = lines
    this.look()
  }

  document(): unknown {
    const value = this.block(0)
    if (this.indent >= 0) throw new Beyond()
    return value
  }

  private next(): void {
    this.at += 1
    this.look()
  }

  private look(): void {
    for (; this.at < this.lines.length; this.at += 1) {
      const line = this.lines[this.at] ?? ''
      this.indent = line.search(/\S/)
      if (this.indent < 0) continue
      this.text = line.slice(this.indent).trimEnd()
      if (this.text.startsWith('#') || this.text.startsWith('---')) throw new Beyond()
      return
    }
    this.indent = -1
  }

  private block(least: number): unknown {
    if (this.indent < least) return null
    return isItem(this.text) ? this.list(this.indent) : this.map(this.indent)
  }

  private list(indent: number): unknown[] {
    const items: unknown[] = []
    while (this.indent === indent && isItem(this.text)) {
      const rest = this.text.slice(1).trimStart()
      if (rest === '') throw new Beyond()
      if (entryOf(rest)) {
        this.indent += this.text.length - rest.length
        this.text = rest
        items.push(this.map(this.indent))
      } else {
        this.next()
        items.push(rest === '|-' ? this.literal(indent) : scalar(rest))
      }
    }
    return items
  }

  private map(indent: number): Record<string, unknown> {
    const map: Record<string, unknown> = {}
    while (this.indent === indent && !isItem(this.text)) {
      const entry = entryOf(this.text)
      if (!entry || entry.key === '__proto__') throw new Beyond()
      if (Object.hasOwn(map, entry.key)) throw new Error(`${entry.key} stands twice in one map`)
      this.next()
      map[entry.key] = this.value(entry.rest, indent)
    }
    if (this.indent > indent) throw new Beyond()
    return map
  }

  private value(rest: string, indent: number): unknown {
    if (rest === '|-') return this.literal(indent)
    if (rest !== '') return scalar(rest)
    const isNested = this.indent > indent || (this.indent === indent && isItem(this.text))
    return isNested ? this.block(this.indent) : null
  }

  private literal(indent: number): string {
    const first = this.indent
    if (first <= indent) throw new Beyond()
    const lines: string[] = []
    for (; this.at < this.lines.length; this.at += 1) {
      const line = this.lines[this.at] ?? ''
      if (line.trim() !== '' && line.length - line.trimStart().length < first) break
      lines.push(line.slice(first))
    }
    this.look()
    return lines.join('\n').replace(/\n+$/, '')
  }
}

const isItem = (text: string): boolean => text === '-' || text.startsWith('- ')

interface Entry {
  readonly key: string
  readonly rest: string
}

/** A key and what stands behind it on its line. */
function entryOf(text: string): Entry | undefined {
  const colon = text.startsWith('"')
    ? /^"(?:[^"\\]|\\.)*"/.exec(text)?.[0].length
    : text.indexOf(':')
  if (colon === undefined || colon < 1 || text.charAt(colon) !== ':') return undefined
  const rest = text.slice(colon + 1)
  if (rest !== '' && !rest.startsWith(' ')) return undefined
  const key = keyOf(text.slice(0, colon))
  return key === undefined ? undefined : { key, rest: rest.trimStart() }
}

const keys = new Map<string, string>()

/** The same few keys stand everywhere. */
function keyOf(text: string): string | undefined {
  const known = keys.get(text)
  if (known !== undefined) return known
  if (!text.startsWith('"') && !/^[\w./-]+$/.test(text)) return undefined
  const key = String(scalar(text))
  keys.set(text, key)
  return key
}

const ESCAPE = /\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)/g
const SHORT: Readonly<Record<string, string>> = {
  '\\"': '"',
  '\\\\': '\\',
  '\\a': '\u0007',
  '\\b': '\b',
  '\\f': '\f',
  '\\n': '\n',
  '\\r': '\r',
  '\\t': '\t',
  '\\v': '\v',
}

const scalars = new Map<string, unknown>()

function scalar(text: string): unknown {
  if (text.startsWith('"')) return quoted(text)
  if (text === '[]') return []
  if (text === '{}') return {}
  if (/^[|>&*!]| #/.test(text)) throw new Beyond()
  if (/^(?:0|[1-9][0-9]*)$/.test(text)) return Number(text)
  // Longer than any word that YAML takes for something else.
  if (/^(?:--)?[A-Za-z/][\w./:@=,-]{6,}[\w/]$/.test(text)) return text
  if (/^[^\w./+~-]/.test(text)) return parseWhole(text)
  if (!scalars.has(text)) scalars.set(text, readPlainScalar(text))
  return scalars.get(text)
}

function quoted(text: string): string {
  if (!/^"(?:[^"\\]|\\.)*"$/.test(text)) throw new Beyond()
  const inner = text.slice(1, -1)
  if (!inner.includes('\\')) return inner
  return inner.replace(ESCAPE, (escape) => {
    const code = /^\\[xuU](.+)/.exec(escape)?.[1]
    const character = code ? String.fromCodePoint(Number.parseInt(code, 16)) : SHORT[escape]
    if (character === undefined || /\p{Cs}/u.test(character)) throw new Beyond()
    return character
  })
}
