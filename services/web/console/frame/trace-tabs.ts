import { html } from 'hono/html'
import type { Html } from './html.ts'

const TABS = [
  ['/traces', 'Traces'],
  ['/sessions', 'Sessions'],
  ['/usage', 'Usage'],
  ['/send-traces', 'Send traces'],
] as const

/** The pages about traces, with the current one marked. */
export const traceTabs = (current: (typeof TABS)[number][0]): Html =>
  html`<nav class="filter" aria-label="Views of traces">
    ${TABS.map(
      ([path, name]) =>
        html`<a href="${path}" ${path === current ? html`aria-current="page"` : ''}>${name}</a>`,
    )}
  </nav>`
