import { html } from 'hono/html'
import type { Automation } from '../../../platform/automations/automations.ts'
import type { CrewState, ListedDeployment } from '../../../platform/crews/crew-deployments.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { byteSize, plural } from '../frame/format.ts'
import { csrfField, pill } from '../frame/parts.ts'
import type { Html, Tone } from '../frame/parts.ts'
import { automationPath } from './own-crew.ts'

const TONES = {
  Waiting: 'waiting',
  Building: 'busy',
  Deploying: 'busy',
  'Crew is Online': 'good',
  'Crew is Offline': 'idle',
  'Crew has Failed': 'bad',
  Replaced: 'idle',
} as const satisfies Record<CrewState, Tone>

/** The state of a deployment, in its colour. */
export const statePill = (state: CrewState): Html =>
  pill(TONES[state], state.replace(/^Crew (is|has) /, ''))

/** Returns true while the state of a deployment may change by itself. */
export const isOpen = ({ endedAt }: Pick<ListedDeployment, 'endedAt'>): boolean => endedAt === null

/** What a source is, in a line. */
export function sourceText({ source }: Pick<ListedDeployment, 'source'>): string {
  const { name, size, fileCount, gitRef, gitCommit } = source
  const what = gitCommit === null ? name : `${gitRef ?? ''} ${gitCommit.slice(0, 8)}`
  return `${what}, ${plural(fileCount, 'file')}, ${byteSize(size)}`
}

/** Who deployed: a person, a token by its name, or a push. */
export const deployerOf = ({ createdBy, source }: ListedDeployment): string =>
  createdBy ?? (source.gitCommit === null ? 'API' : 'Git')

/** The way from the list of automations to a page. */
export const crumbs = (
  automation: Pick<Automation, 'automationId' | 'name'>,
  ...more: readonly { readonly path: string; readonly name: string }[]
): Html =>
  html`<nav class="crumbs" aria-label="Breadcrumb">
    <a href="/automations">Automations</a
    ><a href="${automationPath(automation)}">${automation.name}</a>${more.map(
      ({ path, name }) => html`<a href="${path}">${name}</a>`,
    )}
  </nav>`

/** A button that posts a form of its own. */
export const postButton = (
  { csrfToken }: Pick<Session, 'csrfToken'>,
  { action, text, tone = '' }: { action: string; text: string; tone?: string },
): Html =>
  html`<form method="post" action="${action}">
    ${csrfField(csrfToken)}
    <button class="button ${tone}">${text}</button>
  </form>`

/** A field of a form, with what is wrong with it. */
export interface TextField {
  readonly name: string
  readonly label: string
  readonly value: string
  readonly hint?: string | undefined
  readonly problem?: string | undefined
  readonly placeholder?: string | undefined
}

/** A field for a text of one line. */
export const textField = ({ name, label, value, placeholder = '', ...rest }: TextField): Html => {
  const notes = [rest.problem ? `${name}-problem` : '', rest.hint ? `${name}-hint` : '']
  return html`<label
      >${label}
      <input
        name="${name}"
        class="mono"
        value="${value}"
        placeholder="${placeholder}"
        autocomplete="off"
        ${rest.problem ? html`aria-invalid="true"` : ''}
        aria-describedby="${notes.join(' ').trim()}"
      />
    </label>
    ${fieldNotes({ name, ...rest })}`
}

/** What is wrong with a field, and what it is for. */
export const fieldNotes = ({ name, hint, problem }: Omit<TextField, 'label' | 'value'>): Html =>
  html`${
    problem ? html`<p class="hint under problem" id="${name}-problem">${problem}</p>` : ''
  }${hint ? html`<p class="hint under" id="${name}-hint">${hint}</p>` : ''}`
