import { html } from 'hono/html'
import type { Html } from './parts.ts'

const SHAPES = {
  llm: 'M10 3l1.9 4.6L16.5 9.5l-4.6 1.9L10 16l-1.9-4.6L3.5 9.5l4.6-1.9z',
  embedding: 'M4 5h3v3H4zM13 5h3v3h-3zM4 12h3v3H4zM13 12h3v3h-3zM7 6.5h6M7 13.5h6',
  tool: 'M12.5 3.5a4 4 0 0 0-4 5.2L3.5 13.7l2.8 2.8 5-5a4 4 0 0 0 5.2-5l-2.5 2.5-2.7-.8-.8-2.7z',
  agent: 'M10 3.5a3 3 0 1 1 0 6 3 3 0 0 1 0-6zM4 16.5c.6-3 3-4.5 6-4.5s5.4 1.5 6 4.5',
  task: 'M4 4h12v12H4zM7 10l2 2 4-4.5',
  retriever:
    'M4 6c0-1.4 2.7-2.5 6-2.5s6 1.1 6 2.5-2.7 2.5-6 2.5S4 7.4 4 6z' +
    'M4 6v8c0 1.4 2.7 2.5 6 2.5s6-1.1 6-2.5V6M4 10c0 1.4 2.7 2.5 6 2.5s6-1.1 6-2.5',
  reranker: 'M6 4v12m0 0-2.5-2.5M6 16l2.5-2.5M11 5h6M11 10h4M11 15h2',
  guardrail: 'M10 3l6 2.5v4c0 3.5-2.5 6-6 7.5-3.5-1.5-6-4-6-7.5v-4z',
  approval: 'M3.5 4h13v9h-6l-3.5 3.5V13H3.5zM7 8.5l2 2 4-4',
  other: 'M5 10h.01M10 10h.01M15 10h.01',
  span: 'M3.5 10h13M6.5 6h7M6.5 14h7',
} as const

/** The kind of a step, as pages show it; `span` is one that is no step of a crew. */
export type KindName = keyof typeof SHAPES

const NAMES: Readonly<Record<KindName, string>> = {
  llm: 'Model call',
  embedding: 'Embedding',
  tool: 'Tool call',
  agent: 'Agent',
  task: 'Task',
  retriever: 'Retrieval',
  reranker: 'Reranking',
  guardrail: 'Guardrail',
  approval: 'Approval',
  other: 'Step',
  span: 'Span',
}

/** All kinds, in the order in which they are offered. */
export const KINDS: readonly KindName[] = [
  'agent',
  'task',
  'llm',
  'tool',
  'retriever',
  'reranker',
  'embedding',
  'guardrail',
  'other',
  'span',
]

const isKind = (word: string): word is KindName => Object.hasOwn(SHAPES, word)

/** The kind of a column's word; `other` for one that this version does not know. */
export function kindOf(word: string | null): KindName {
  if (word === null) return 'span'
  return isKind(word) ? word : 'other'
}

/** Returns a kind in words. */
export const kindName = (kind: KindName): string => NAMES[kind]

/** The drawings of all kinds, which `kindIcon` and the script refer to. */
export const kindSprite = (): Html =>
  html`<svg class="sprite" width="0" height="0" aria-hidden="true" focusable="false">
    ${Object.entries(SHAPES).map(
      ([kind, path]) =>
        html`<symbol id="kind-${kind}" viewBox="0 0 20 20"><path d="${path}" /></symbol>`,
    )}
  </svg>`

const drawing = (kind: KindName): Html =>
  html`<svg class="icon" aria-hidden="true" focusable="false"><use href="#kind-${kind}" /></svg>`

/** The icon of a kind, with its name for those who cannot see it. */
export const kindIcon = (kind: KindName): Html =>
  html`<span class="kind ${kind}" title="${NAMES[kind]}"
    >${drawing(kind)}<span class="unseen">${NAMES[kind]}</span></span
  >`

/** The icon of a kind with a word, in one line with what it is the kind of. */
export const kindChip = (kind: KindName, word: string): Html =>
  html`<span class="kind chip ${kind}">${drawing(kind)}${word}</span>`
