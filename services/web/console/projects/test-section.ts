import { randomUUID } from 'node:crypto'
import { html } from 'hono/html'
import { inputFields } from '../../../platform/definitions/crew-inputs.ts'
import type { CrewDefinition } from '../../../platform/definitions/crew-definition.ts'
import type { TestRun } from '../../../platform/projects/draft-tests.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { runPath } from '../frame/addresses.ts'
import { shortId } from '../frame/format.ts'
import { icon } from '../frame/icons.ts'
import { formType, inputField } from '../frame/input-field.ts'
import { kindSprite } from '../frame/kinds.ts'
import { csrfField, problemBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'

/** The tests of a draft. */
export interface DraftTests {
  /** The newest one. */
  readonly newest?: TestRun | undefined
  /** The inputs of the newest one, or what was typed. */
  readonly texts?: Readonly<Record<string, string>>
  /** Why a test was not started. */
  readonly problem?: string
}

/** The form that tests a draft, and its newest test, which the script of the console follows. */
export function testSection(
  { session, definition }: { readonly session: Session; readonly definition: CrewDefinition },
  { newest, texts = {}, problem }: DraftTests,
  path: string,
): Html {
  const fields = inputFields(definition)
  return html`<section class="card test" aria-labelledby="test">
    <div class="card-head"><h2 id="test">Test</h2></div>
    ${problemBox(problem)}
    <form
      method="post"
      action="${path}/tests"
      enctype="${formType(fields)}"
      class="stack"
      data-saves-first
    >
      ${csrfField(session.csrfToken)}
      <input type="hidden" name="start_once" value="${randomUUID()}" />
      ${fields.map((field) => inputField(field, texts[field.name]))}
      <div>
        <button class="button">${icon('play')}<span>Test the draft</span></button>
      </div>
      <p class="hint">
        A run of what is saved, which counts toward the budgets of your organization. Nothing is
        published.
      </p>
    </form>
    ${newest ? newestTest(newest) : ''}
  </section>`
}

/** Without a script there is the page of the run. */
function newestTest(newest: TestRun): Html {
  const path = runPath(newest, newest)
  return html`<div class="test-run" data-live="${path}/live" data-live-at-once>
    <div class="card-head">
      <h3>Newest test <a class="mono" href="${path}">${shortId(newest.id)}</a></h3>
      <span data-part="status"></span>
    </div>
    <div data-part="outcome"></div>
    <div data-part="artifacts"></div>
    <div data-part="axis"></div>
    <ol class="steps" data-part="steps"></ol>
    <p><a href="${path}">Open the page of its run</a></p>
    ${kindSprite()}
  </div>`
}
