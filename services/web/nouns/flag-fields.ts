import { html } from 'hono/html'
import { FEATURE_FLAGS, readFlagState } from '../../platform/feature-flags.ts'
import type { FeatureFlag } from '../../platform/feature-flags.ts'
import { isObject } from '../../shared/is-object.ts'
import { choice } from '../resources/controls.ts'
import type { Control } from '../resources/controls.ts'

/** What each flag is called, and does. */
export const FLAG_TEXTS: Readonly<Record<FeatureFlag, { readonly title: string; text: string }>> = {
  k8s_namespace_isolation: {
    title: 'A namespace for each organization',
    text:
      'The crews of each organization run in a Kubernetes namespace of their own. After a ' +
      'change, install the crews again; until then the health report finds them missing. ' +
      'Each time the chart installs the crews, it sets this flag for the whole platform to the ' +
      'value crews.namespaceIsolation, which also grants the permissions that this requires.',
  },
}

/** True or false, as people choose it; what is neither stays as it was given. */
export const onOff: Control = {
  ...choice({ on: 'On', off: 'Off' }),
  read: (typed, name) => stateOf(typed.get(name)),
  write: (name, value) => [[name, wordOf(value)]],
}

const ownState = choice({ '': 'As the whole platform', on: 'On', off: 'Off' })

/** A state of its own for each flag, or null. */
export const ownStates: Control = {
  render: ({ label }, typed) =>
    html`<fieldset>
      <legend>${label}</legend>
      ${FEATURE_FLAGS.map((name) =>
        ownState.render({ name: inputOf(name), label: FLAG_TEXTS[name].title }, typed),
      )}
    </fieldset>`,
  read: (typed) =>
    Object.fromEntries(FEATURE_FLAGS.map((name) => [name, stateOf(typed.get(inputOf(name)))])),
  write: (_, value) =>
    FEATURE_FLAGS.map((name): [string, string] => [
      inputOf(name),
      wordOf(isObject(value) ? value[name] : value),
    ]),
}

const inputOf = (flag: FeatureFlag): string => `flag_${flag}`

function wordOf(state: unknown): string {
  if (typeof state === 'boolean') return state ? 'on' : 'off'
  return typeof state === 'string' ? state : ''
}

const stateOf = (word: string | null): unknown => (word ? (readFlagState(word) ?? word) : null)
