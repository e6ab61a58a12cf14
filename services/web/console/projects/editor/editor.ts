import { html } from 'hono/html'
import type { Project } from '../../../../platform/projects/projects.ts'
import type { Session } from '../../../../platform/people/sessions.ts'
import { crewGraph } from '../../frame/crew-graph.ts'
import { icon } from '../../frame/icons.ts'
import { csrfField } from '../../frame/parts.ts'
import type { Html } from '../../frame/parts.ts'
import { toDraft } from './definition-form.ts'
import { editorForm } from './form.ts'
import type { Choices } from './offers.ts'
import { projectPath } from '../own-project.ts'

/** A definition that is edited. */
export interface Editor {
  readonly session: Session
  readonly project: Project
  /** Where the form is sent to. */
  readonly action: string
  readonly text: string
  readonly problems: readonly string[]
  /** The digest of the definition that was there when the editor was opened. */
  readonly since?: string | undefined
  /** What is done with the definition: `Save the draft`. */
  readonly verb: string
  readonly choices: Choices
}

/** A definition as a form and as text, side by side: either one is saved. */
export const editor = (view: Editor): Html =>
  html`<form
    method="post"
    action="${view.action}"
    class="editor-form"
    data-editor="${projectPath(view.project)}/editor"
  >
    ${csrfField(view.session.csrfToken)}
    <input type="hidden" name="base" value="${view.text}" />
    <input type="hidden" name="since" value="${view.since ?? ''}" />
    <section class="card" aria-labelledby="form">
      <div class="card-head"><h2 id="form">Form</h2></div>
      <div data-part="fields">${editorForm(toDraft(view.text), view)}</div>
      <div class="buttons editor-save">
        <button class="button primary" name="act" value="save-form">${view.verb}</button>
        <button class="button" name="act" value="show-form" data-without-editor formnovalidate>
          Check
        </button>
      </div>
    </section>
    <section class="card" aria-labelledby="text">
      <div class="card-head">
        <h2 id="text">Text</h2>
        <div data-part="problems">${problemCount(view.problems)}</div>
      </div>
      <textarea
        name="definition"
        class="definition"
        spellcheck="false"
        aria-label="Definition (JSON)"
      >
${view.text}</textarea>
      <div data-part="list">${problemItems(view.problems)}</div>
      <div data-part="graph">${crewGraph(toDraft(view.text))}</div>
      <div class="buttons">
        <button class="button" name="act" value="save-text">${view.verb} from the text</button>
        <button class="button" name="act" value="show-text" data-without-editor formnovalidate>
          Show in the form
        </button>
      </div>
    </section>
  </form>`

/** Says whether a definition can be used. */
export const problemCount = (problems: readonly string[]): Html =>
  problems.length === 0
    ? html`<span class="pill good">Valid</span>`
    : html`<span class="pill bad"
        >${problems.length === 1 ? '1 problem' : `${problems.length} problems`}</span
      >`

/** Each problem with a definition, at its place. */
export const problemItems = (problems: readonly string[]): Html | string =>
  problems.length === 0
    ? ''
    : html`<ul class="problems hint">
        ${problems.map((problem) => html`<li class="break">${problem}</li>`)}
      </ul>`

/** Each problem that kept a definition from being saved. */
export const problemList = (problems: readonly string[], title: string): Html | string =>
  problems.length === 0
    ? ''
    : html`<div class="notice bad" role="alert">
        ${icon('alert')}
        <div>
          <p>${title}</p>
          <ul>
            ${problems.map((problem) => html`<li class="break">${problem}</li>`)}
          </ul>
        </div>
      </div>`
