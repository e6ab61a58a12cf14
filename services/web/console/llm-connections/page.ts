import { html } from 'hono/html'
import type { LlmConnection } from '../../../platform/connections/llm-connections.ts'
import { LLM_APIS } from '../../../platform/connections/model-endpoint.ts'
import type { LlmApi } from '../../../platform/connections/model-endpoint.ts'
import { PROVIDER_NAMES } from '../../../platform/connections/llm-providers.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { LENGTHS } from './form.ts'
import type { TypedConnection } from './form.ts'
import type { ConnectionTest, Credentials } from './test-connection.ts'
import { page } from '../frame/layout.ts'
import { llmTestSection } from './test-section.ts'
import { csrfField, noticeBox, problemBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { finalForm } from '../frame/undo.ts'

/** The form of a new connection, with what was typed. */
export interface NewLlmConnectionPage {
  readonly session: Session
  readonly typed: TypedConnection
  /** Models that the crews of the organization name. */
  readonly models: readonly string[]
  readonly problem?: string | undefined
}

/** The form of a new connection. */
export function newLlmConnectionPage(view: NewLlmConnectionPage): Html {
  const { session, typed, models, problem } = view
  return page(
    { title: 'New LLM connection', session, current: '/llm-connections' },
    html`${crumbs()}
      <div class="page-head"><h1>New LLM connection</h1></div>
      <div class="card narrow">
        ${problemBox(problem)}
        ${connectionForm({ session, action: '/llm-connections', typed, models, hasKey: false })}
      </div>`,
  )
}

/** A connection with the state of its page. */
export interface LlmConnectionPage {
  readonly session: Session
  readonly connection: LlmConnection
  readonly credentials: Credentials
  /** Models that the crews of the organization name. */
  readonly models: readonly string[]
  readonly notice?: string | undefined
  /** A form that was refused: what was typed, and why. */
  readonly typed?: TypedConnection
  readonly problem?: string
  /** The findings of a test that was just run. */
  readonly test?: ConnectionTest
}

/** The page of a connection: its form, its test, its deletion. */
export function llmConnectionPage(view: LlmConnectionPage): Html {
  const { session, connection, models, notice, problem, typed = typedOf(connection) } = view
  const action = `/llm-connections/${connection.id}`
  return page(
    { title: connection.name, session, current: '/llm-connections' },
    html`${crumbs()}
      <div class="page-head"><h1>${connection.name}</h1></div>
      ${noticeBox(notice)}
      <div class="columns">
        <section class="card" aria-labelledby="settings">
          <div class="card-head"><h2 id="settings">Settings</h2></div>
          ${problemBox(problem)}
          ${connectionForm({ session, action, typed, models, hasKey: connection.hasKey })}
        </section>
        <div>${llmTestSection(view)} ${deleteSection(view)}</div>
      </div>`,
  )
}

const typedOf = ({ name, provider, model, baseUrl, api }: LlmConnection): TypedConnection => ({
  name,
  provider,
  model,
  baseUrl: baseUrl ?? '',
  api,
})

const crumbs = (): Html =>
  html`<nav class="crumbs" aria-label="Breadcrumb">
    <a href="/llm-connections">LLM connections</a>
  </nav>`

interface ConnectionForm {
  readonly session: Session
  readonly action: string
  readonly typed: TypedConnection
  readonly models: readonly string[]
  readonly hasKey: boolean
}

function connectionForm({ session, action, typed, models, hasKey }: ConnectionForm): Html {
  return html`<form method="post" action="${action}" class="stack">
    ${csrfField(session.csrfToken)}
    <label
      >Name
      <input
        name="name"
        autocomplete="off"
        value="${typed.name}"
        maxlength="${LENGTHS.name}"
        required
      />
    </label>
    ${modelFields(typed, models)} ${addressField(typed)} ${apiField(typed)} ${keyField(hasKey)}
    <div><button class="button primary">Save</button></div>
  </form>`
}

const modelFields = ({ provider, model }: TypedConnection, models: readonly string[]): Html =>
  html`<label
      >Provider
      <input
        name="provider"
        autocomplete="off"
        value="${provider}"
        maxlength="${LENGTHS.provider}"
        list="providers"
        placeholder="openai"
        required
      />
      <datalist id="providers">
        ${PROVIDER_NAMES.map((name) => html`<option value="${name}"></option>`)}
      </datalist>
    </label>
    <label
      >Model
      <input
        name="model"
        autocomplete="off"
        class="mono"
        value="${model}"
        maxlength="${LENGTHS.model}"
        placeholder="gpt-4o-mini"
        list="models"
        aria-describedby="model-hint"
        required
      />
      <datalist id="models">
        ${models.map((name) => html`<option value="${name}"></option>`)}
      </datalist>
    </label>
    <p class="hint under" id="model-hint">
      Crews whose definition names this model use the connection. The models that your crews name
      are suggested.
    </p>`

const addressField = ({ baseUrl }: TypedConnection): Html =>
  html`<label
      >Base URL <span class="quiet">(optional)</span>
      <input
        name="base_url"
        autocomplete="off"
        class="mono"
        type="url"
        value="${baseUrl}"
        maxlength="${LENGTHS.baseUrl}"
        placeholder="https://llm.example.com/v1"
        aria-describedby="base-url-hint"
      />
    </label>
    <p class="hint under" id="base-url-hint">
      The address of an OpenAI-compatible endpoint of your own. Only the key of this connection is
      sent there, never a key of the platform.
    </p>`

const API_LABELS: Readonly<Record<LlmApi, string>> = {
  auto: 'As its answers ask for',
  chat_completions: 'chat/completions',
  responses: 'responses',
}

const apiField = ({ api }: TypedConnection): Html =>
  html`<label
      >API
      <select name="api" aria-describedby="api-hint">
        ${LLM_APIS.map(
          (each) =>
            html`<option value="${each}" ${each === api ? 'selected' : ''}>
              ${API_LABELS[each]}
            </option>`,
        )}
      </select>
    </label>
    <p class="hint under" id="api-hint">
      Crews ask at chat/completions first, and at responses once the answer says that the model
      needs it.
    </p>`

/** The field of the key, which is never shown: neither its value, nor its end, nor its length. */
function keyField(hasKey: boolean): Html {
  return html`<label
      >API key <span class="quiet">(optional)</span>
      <input
        name="api_key"
        class="mono"
        type="password"
        value=""
        maxlength="${LENGTHS.key}"
        placeholder="${hasKey ? 'A key is stored. Type a new one to replace it' : ''}"
        autocomplete="new-password"
        spellcheck="false"
        aria-describedby="key-hint"
      />
    </label>
    <p class="hint under" id="key-hint">
      Stored encrypted and never shown again. Without a key, the variables of the platform are used.
    </p>
    ${
      hasKey
        ? html`<label class="check"
            ><input type="checkbox" name="forget_key" value="yes" /> Remove the stored key</label
          >`
        : ''
    }`
}

function deleteSection({ session, connection }: LlmConnectionPage): Html {
  return html`<section class="card" aria-labelledby="delete">
    <div class="card-head"><h2 id="delete">Delete</h2></div>
    <p class="hint">
      Runs that start afterwards call <span class="mono">${connection.model}</span> with the
      credentials of the platform.
    </p>
    ${finalForm(session, {
      action: `/llm-connections/${connection.id}/delete`,
      what: 'Delete this connection',
    })}
  </section>`
}
