import { html, raw } from 'hono/html'
import MarkdownIt from 'markdown-it'
import type { Token } from 'markdown-it'
import type { Html } from '../parts.ts'
import { jsonTree } from './json-tree.ts'
import { formatOf } from './text-format.ts'

/** A text that a crew wrote: Markdown as a document, JSON as a tree. */
export function renderText(text: string): Html {
  switch (formatOf(text)) {
    case 'json':
      return jsonTree(text)
    case 'markdown':
      return html`<div class="document">${raw(markdownToHtml(text))}</div>`
    case 'plain':
      return plainText(text)
  }
}

/** A text exactly as it was written. */
export const plainText = (text: string): Html => html`<div class="prose">${text}</div>`

/** Texts nest a few levels; deeper nesting would slow the renderer down, and is shown flat. */
const NESTING_MAX = 20
/** A heading of a text stands below the heading of its section, which is an `h2`. */
const TOP_LEVEL = 3

const markdown = new MarkdownIt({
  html: false,
  breaks: true,
  linkify: true,
  maxNesting: NESTING_MAX,
})
// Addresses are links only where the text writes them in full.
markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false })
// An image would tell its host who reads the page: it becomes a link.
markdown.disable('image')
markdown.validateLink = (address) => /^(?:https?:\/\/|mailto:)/i.test(address)
markdown.core.ruler.push('console', ({ tokens }) => {
  fitHeadings(tokens)
  for (const token of tokens) {
    alignByClass(token)
    for (const child of token.children ?? []) if (child.type === 'link_open') guardLink(child)
  }
})

/**
 * Returns Markdown that a model wrote as HTML that is safe to show: tags are text, links lead to
 * http, https and mailto only, nothing is loaded, and no style is inline.
 */
export const markdownToHtml = (text: string): string => markdown.render(text)

/** Moves headings below those of the page, without skipping a level. */
function fitHeadings(tokens: readonly Token[]): void {
  let previous = TOP_LEVEL - 1
  for (const token of tokens) {
    if (token.type !== 'heading_open' && token.type !== 'heading_close') continue
    const wanted = Number(token.tag.slice(1)) + TOP_LEVEL - 1
    const level = token.type === 'heading_open' ? Math.min(wanted, previous + 1, 6) : previous
    token.tag = `h${level}`
    previous = level
  }
}

function guardLink(token: Token): void {
  // Markdown may leave the address out; a link to nowhere would open the page once more.
  if (token.attrGet('href') === '') {
    token.attrs = null
    return
  }
  token.attrSet('rel', 'noopener noreferrer nofollow')
  token.attrSet('target', '_blank')
}

/** Aligns the column of a table by a class, as our policy takes no inline style. */
function alignByClass(token: Token): void {
  const style = token.attrGet('style')
  if (style === null) return
  token.attrs = (token.attrs ?? []).filter(([name]) => name !== 'style')
  if (String(style).includes('right')) token.attrJoin('class', 'number')
}
