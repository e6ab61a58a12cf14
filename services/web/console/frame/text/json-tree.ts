import { html } from 'hono/html'
import { plural } from '../format.ts'
import type { Html } from '../html.ts'
import { indentJson, isCloser, isOpener, tokensOf } from './text-format.ts'
import { visibleText } from './visible-text.ts'

/** JSON of more values is shown as indented text: a page has to stay small. */
const VALUES_MAX = 1000
/** What is nested deeper is shown as indented text. */
const DEPTH_MAX = 12
/** A tree of so few values is open as a whole, a larger one at its first level. */
const OPEN_MAX = 60
/** The longest text, in characters, that stands beside its key; longer ones have a fold. */
const SHORT = 300
const EXCERPT = 80

/** A value: what stands in an object or an array, or its text as it was written. */
interface JsonNode {
  readonly key?: string | undefined
  readonly text: string
  readonly children?: readonly JsonNode[]
}

interface Cursor {
  readonly tokens: readonly string[]
  at: number
}

/** Valid JSON as a tree of folds. Numbers, repeated keys and escapes stay as they were written. */
export function jsonTree(text: string): Html {
  const tokens = tokensOf(text)
  const count = tokens.filter((token) => token === ',' || isOpener(token)).length
  if (count > VALUES_MAX) return html`<pre class="code"><code>${indentJson(text)}</code></pre>`
  const root = readNode({ tokens, at: 0 }, 0)
  return html`<div class="json">${show(root, count <= OPEN_MAX ? DEPTH_MAX : 1)}</div>`
}

function readNode(cursor: Cursor, depth: number): JsonNode {
  const { tokens } = cursor
  const from = cursor.at
  const token = next(cursor)
  if (!isOpener(token)) return { text: token }
  const children: JsonNode[] = []
  if (depth < DEPTH_MAX) {
    while (cursor.at < tokens.length && !isCloser(tokens[cursor.at] ?? '')) {
      children.push(readEntry(cursor, token === '{', depth + 1))
    }
    next(cursor)
    return { text: token, children }
  }
  for (let open = 1; open > 0 && cursor.at < tokens.length;) {
    const each = next(cursor)
    open += isOpener(each) ? 1 : isCloser(each) ? -1 : 0
  }
  return { text: indentJson(tokens.slice(from, cursor.at).join('')) }
}

/** An entry with the comma behind it. */
function readEntry(cursor: Cursor, hasKey: boolean, depth: number): JsonNode {
  const key = hasKey ? next(cursor) : undefined
  if (hasKey) next(cursor)
  const value = readNode(cursor, depth)
  if (cursor.tokens[cursor.at] === ',') next(cursor)
  return { key, ...value }
}

const next = (cursor: Cursor): string => cursor.tokens[cursor.at++] ?? ''

function show({ key, text, children }: JsonNode, openLevels: number): Html {
  const name =
    key === undefined ? '' : html`<span class="json-key">${visibleText(key.slice(1, -1))}</span> `
  if (!children) return showText(name, text)
  if (children.length === 0)
    return html`${name}<span class="quiet">${text === '{' ? '{}' : '[]'}</span>`
  const count = plural(children.length, text === '{' ? 'key' : 'item')
  return html`<details ${openLevels > 0 ? html`open` : ''}>
    <summary>${name}<span class="quiet">${text === '{' ? '{…}' : '[…]'} ${count}</span></summary>
    <ul>
      ${children.map((child) => html`<li>${show(child, openLevels - 1)}</li>`)}
    </ul>
  </details>`
}

function showText(name: Html | string, text: string): Html {
  const shown = visibleText(text)
  const kind = text.startsWith('"') ? 'json-string' : 'json-value'
  if (shown.length <= SHORT && !shown.includes('\n')) {
    return html`${name}<span class="${kind}">${shown}</span>`
  }
  return html`<details>
    <summary>${name}<span class="${kind}">${shown.slice(0, EXCERPT)}…</span></summary>
    <div class="prose ${kind}">${shown}</div>
  </details>`
}
