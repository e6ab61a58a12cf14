import { html, raw } from 'hono/html'
import { markdownToHtml } from './markdown.ts'
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
