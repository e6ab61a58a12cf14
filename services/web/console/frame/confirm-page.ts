import { html } from 'hono/html'
import type { Session } from '../../../platform/people/sessions.ts'
import { page } from './layout.ts'
import { csrfField } from './parts.ts'
import type { Html } from './parts.ts'

/** A page above another one. */
export interface Crumb {
  readonly path: string
  readonly name: string
}

/** The way back to the pages above. */
export const crumbs = (pages: readonly Crumb[]): Html =>
  html`<nav class="crumbs" aria-label="Breadcrumb">
    ${pages.map(({ path, name }) => html`<a href="${path}">${name}</a>`)}
  </nav>`

/** A question, and the form that says yes. */
export interface ConfirmPage {
  readonly session: Session
  /** The entry of the navigation. @default /automations */
  readonly current?: string
  readonly crumbs: readonly Crumb[]
  readonly question: string
  /** The consequence, in words. */
  readonly consequence: string
  /** The address of the form, and the text of its button. */
  readonly action: string
  readonly verb: string
  readonly back: string
}

/** The question before an action that cannot be undone. */
export function confirmPage(view: ConfirmPage): Html {
  const {
    session,
    current = '/automations',
    crumbs: above,
    question,
    consequence,
    action,
    verb,
    back,
  } = view
  return page(
    { title: question, session, current },
    html`${crumbs(above)}
      <div class="card lone">
        <h1>${question}</h1>
        <p>${consequence}</p>
        <form method="post" action="${action}" class="buttons">
          ${csrfField(session.csrfToken)}
          <button class="button danger">${verb}</button>
          <a class="button" href="${back}">Cancel</a>
        </form>
      </div>`,
  )
}
