import { html } from 'hono/html'
import { FEATURE_FLAGS } from '../../../platform/feature-flags.ts'
import type { FeatureFlag, FlagState } from '../../../platform/feature-flags.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { page } from '../frame/layout.ts'
import { csrfField, noticeBox, pill, problemBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'

/** The page of the settings of the whole platform. */
export const PLATFORM_SETTINGS_PATH = '/admin/platform_settings'

/** The flags in their states. */
export interface PlatformSettingsPage {
  readonly session: Session
  readonly flags: readonly FlagState[]
  readonly notice?: string | undefined
  readonly problem?: string | undefined
}

const TEXTS: Readonly<Record<FeatureFlag, { readonly title: string; readonly text: string }>> = {
  k8s_namespace_isolation: {
    title: 'A namespace for each organization',
    text:
      'The crews of each organization run in a Kubernetes namespace of their own. After a ' +
      'change, install the crews again; until then the health report finds them missing. ' +
      'Each time the chart installs the crews, it sets this flag for the whole platform to the ' +
      'value crews.namespaceIsolation, which also grants the permissions that this requires.',
  },
}

/** The flags of the platform, with a form for each. */
export function platformSettingsPage({
  session,
  flags,
  notice,
  problem,
}: PlatformSettingsPage): Html {
  return page(
    { title: 'Platform settings', session, current: PLATFORM_SETTINGS_PATH },
    html`<div class="page-head">
        <div>
          <h1>Platform settings</h1>
          <p class="hint">They apply to every organization of this installation.</p>
        </div>
      </div>
      ${noticeBox(notice)} ${problemBox(problem)}
      ${FEATURE_FLAGS.map((name) =>
        flagCard(
          session,
          name,
          flags.filter((flag) => flag.name === name),
        ),
      )}`,
  )
}

function flagCard(session: Session, name: FeatureFlag, states: readonly FlagState[]): Html {
  const { title, text } = TEXTS[name]
  const isOn = states.some(({ organization, enabled }) => organization === null && enabled)
  const overrides = states.filter(({ organization }) => organization !== null)
  return html`<section class="card" aria-labelledby="${name}">
    <div class="card-head">
      <h2 id="${name}">${title}</h2>
      ${statePill(isOn)}
    </div>
    <p class="hint"><code>${name}</code></p>
    <p>${text}</p>
    ${
      overrides.length > 0
        ? html`<ul class="plan">
            ${overrides.map(
              ({ organization, enabled }) => html`<li>${organization}: ${statePill(enabled)}</li>`,
            )}
          </ul>`
        : ''
    }
    ${flagForm(session, name, isOn)}
  </section>`
}

const flagForm = (session: Session, name: FeatureFlag, isOn: boolean): Html =>
  html`<form method="post" action="${PLATFORM_SETTINGS_PATH}/flags/${name}" class="stack">
    ${csrfField(session.csrfToken)}
    <label
      >State
      <select name="state">
        <option value="on" ${isOn ? '' : 'selected'}>On</option>
        <option value="off" ${isOn ? 'selected' : ''}>Off</option>
      </select>
    </label>
    <label
      >Organization
      <input
        name="organization"
        autocomplete="off"
        maxlength="200"
        placeholder="The whole platform"
        aria-describedby="${name}-hint"
      />
    </label>
    <p class="hint under" id="${name}-hint">
      The name of one organization, or empty for all without a setting of their own.
    </p>
    <div><button class="button primary">Save</button></div>
  </form>`

const statePill = (isOn: boolean): Html => pill(isOn ? 'good' : 'idle', isOn ? 'on' : 'off')
