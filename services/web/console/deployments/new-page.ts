import { html } from 'hono/html'
import type { Session } from '../../../platform/people/sessions.ts'
import { page } from '../frame/layout.ts'
import { csrfField, problemBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { sourceField } from './deploy-form.ts'
import { textField } from './parts.ts'

/** The form of a new automation. */
interface NewPage {
  readonly session: Session
  /** Programs run as processes of this machine. */
  readonly runsHere: boolean
  readonly name?: string
  readonly problem?: string | undefined
}

/** The page of the ways to a new automation: design it, import it, or deploy a program. */
export const newPage = ({ session, runsHere, name = '', problem }: NewPage): Html =>
  page(
    { title: 'New automation', session, current: '/automations' },
    html`<nav class="crumbs" aria-label="Breadcrumb"><a href="/automations">Automations</a></nav>
      <div class="page-head"><h1>New automation</h1></div>
      <section class="card narrow" aria-labelledby="design">
        <div class="card-head"><h2 id="design">Design it here</h2></div>
        <p class="hint">Agents and tasks, which the platform runs itself. No program is needed.</p>
        <form method="post" action="/projects" class="stack">
          ${csrfField(session.csrfToken)}
          <label
            >Name
            <input name="name" maxlength="200" autocomplete="off" required />
          </label>
          <div class="buttons">
            <button class="button primary">Design a crew</button>
            <a class="button" href="/import-project">Import a CrewAI project</a>
          </div>
        </form>
      </section>
      <section class="card narrow" aria-labelledby="deploy">
        <div class="card-head"><h2 id="deploy">Deploy a program of your own</h2></div>
        <p class="hint">A project of CrewAI with code, or any program, from its source.</p>
        ${problemBox(problem)}
        <form method="post" action="/new-automation" enctype="multipart/form-data" class="stack">
          ${csrfField(session.csrfToken)} ${textField({ name: 'name', label: 'Name', value: name })}
          ${sourceField(runsHere)}
          <div class="buttons"><button class="button">Create and deploy</button></div>
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
      </section>`,
  )
