import { html } from 'hono/html'
import type { Session } from '../../../platform/sessions.ts'
import { page } from './layout.ts'
import { copyable, warningBox } from './parts.ts'
import type { Html } from './parts.ts'

/** A link that was just made, and leads whoever has it into an organization or an account. */
export interface NewLinkPage {
  readonly session: Session
  /** The entry of the navigation. */
  readonly current: string
  readonly title: string
  /** What the link does, how often and for how long. */
  readonly text: string
  readonly url: string
  readonly back: { readonly path: string; readonly name: string }
}

/** The only page that shows such a link. */
export function newLinkPage({ session, current, title, text, url, back }: NewLinkPage): Html {
  return page(
    { title, session, current },
    html`<nav class="crumbs" aria-label="Breadcrumb"><a href="${back.path}">${back.name}</a></nav>
      <div class="page-head"><h1>${title}</h1></div>
      <div class="card narrow">
        ${warningBox('Copy the link now. It is not shown again.')}
        <p>${text}</p>
        ${copyable('Link', url)}
        <p><a class="button primary" href="${back.path}">I have copied it</a></p>
      </div>`,
  )
}
