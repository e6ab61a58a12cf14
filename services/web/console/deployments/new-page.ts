import { html } from 'hono/html'
import type { Session } from '../../../platform/sessions.ts'
import { page } from '../frame/layout.ts'
import { csrfField, problemBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { sourceField } from './deploy-form.ts'
import { textField } from './parts.ts'

/** The form of a new automation. */
export interface NewPage {
  readonly session: Session
  readonly name?: string
  readonly problem?: string | undefined
}

/** The page that makes an automation of a source. */
export const newPage = ({ session, name = '', problem }: NewPage): Html =>
  page(
    { title: 'New automation from source', session, current: '/automations' },
    html`<nav class="crumbs" aria-label="Breadcrumb"><a href="/automations">Automations</a></nav>
      <div class="page-head"><h1>New automation from source</h1></div>
      <section class="card narrow" aria-label="New automation">
        ${problemBox(problem)}
        <form method="post" action="/new-automation" enctype="multipart/form-data" class="stack">
          ${csrfField(session.csrfToken)} ${textField({ name: 'name', label: 'Name', value: name })}
          ${sourceField()}
          <div class="buttons"><button class="button primary">Create and deploy</button></div>
        </form>
        <details class="more">
          <summary>It needs keys or settings first</summary>
          <form method="post" action="/new-automation/empty" class="stack">
            ${csrfField(session.csrfToken)}
            <label
              >Name of the automation
              <input name="name" maxlength="200" autocomplete="off" required />
            </label>
            <div class="buttons"><button class="button">Create without a source</button></div>
          </form>
        </details>
      </section>
      <p class="hint">
        Agents and tasks that the platform runs itself are designed
        <a href="/projects">in a project</a>, or <a href="/import-project">imported from CrewAI</a>.
      </p>`,
  )
