import { html } from 'hono/html'
import type { Session } from '../../../platform/people/sessions.ts'
import { page } from './layout.ts'
import type { MailedLink } from '../../mail/mail-link.ts'
import { copyable, noticeBox, problemBox, warningBox } from './parts.ts'
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
  /** Absent: nobody was to get a mail. */
  readonly mailed?: MailedLink | undefined
}

/** The only page that shows such a link. */
export function newLinkPage(view: NewLinkPage): Html {
  const { session, current, title, text, url, back, mailed } = view
  return page(
    { title, session, current },
    html`<nav class="crumbs" aria-label="Breadcrumb"><a href="${back.path}">${back.name}</a></nav>
      <div class="page-head"><h1>${title}</h1></div>
      <div class="card narrow">
        ${mailBox(mailed)} ${warningBox('Copy the link now. It is not shown again.')}
        <p>${text}</p>
        ${copyable('Link', url)}
        <p><a class="button primary" href="${back.path}">I have copied it</a></p>
      </div>`,
  )
}

/** What came of the mail with a link. */
export function mailBox(mailed: MailedLink | undefined): Html | string {
  if (!mailed) return ''
  const { to, isSent } = mailed
  return isSent
    ? noticeBox(`A mail with the link was sent to ${to}.`)
    : problemBox(
        `The mail to ${to} could not be sent; the log has the reason. The link is good: pass it ` +
          'on yourself.',
      )
}
