import { randomUUID } from 'node:crypto'
import { html } from 'hono/html'
import { ASSISTANT_MODEL } from '../../../platform/projects/assistant.ts'
import type { Project } from '../../../platform/projects/projects.ts'
import { REQUEST_CHARACTERS_MAX } from '../../../platform/projects/proposals.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { csrfField, problemBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { projectPath } from './own-project.ts'

/** The form that asks the Assistant. */
export interface AssistantForm {
  readonly session: Session
  readonly project: Project
  /** The number of the version to change; undefined: there is none. */
  readonly base: number | undefined
  /** The models of the organization's LLM connections. */
  readonly models: readonly string[]
  /** A request that was made before, or refused. */
  readonly typed?: string | undefined
  readonly problem?: string | undefined
}

/** Returns the models that the Assistant can call: the organization's, or the platform's. */
export const offeredModels = (models: readonly string[]): readonly string[] =>
  models.length > 0 ? models : [ASSISTANT_MODEL]

/** Asks what the crew should do, or what to change. */
export function assistantSection(form: AssistantForm): Html {
  const { session, project, base, models, typed = '', problem } = form
  const isNew = base === undefined
  return html`<section class="card" aria-labelledby="assistant">
    <div class="card-head"><h2 id="assistant">Ask the Assistant</h2></div>
    ${problemBox(problem)}
    <form method="post" action="${projectPath(project)}/proposals" class="stack">
      ${csrfField(session.csrfToken)}
      <input type="hidden" name="start_once" value="${randomUUID()}" />
      <input type="hidden" name="base" value="${base ?? ''}" />
      <label
        >${isNew ? 'Describe what the crew should do' : `What to change in version ${base}`}
        <textarea name="request" rows="4" maxlength="${REQUEST_CHARACTERS_MAX}" required>
${typed}</textarea>
      </label>
      <label
        >Model
        <select name="model">
          ${offeredModels(models).map((model) => html`<option value="${model}">${model}</option>`)}
        </select>
      </label>
      ${models.length > 0 ? '' : noConnection()}
      <div><button class="button primary">Draft a version</button></div>
      <p class="hint">
        This is a run of your organization, with your model. You see what it changes before a draft
        is added; it publishes nothing.
      </p>
    </form>
  </section>`
}

const noConnection = (): Html =>
  html`<p class="hint">
    Your organization has no LLM connection, so the Assistant calls ${ASSISTANT_MODEL} with the
    credentials of the platform, if it has any.
    <a href="/llm-connections">Add an LLM connection</a> to use a model of your own.
  </p>`
