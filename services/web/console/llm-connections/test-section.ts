import { html } from 'hono/html'
import type { LlmConnection } from '../../../platform/connections/llm-connections.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { CALL_TOKENS_MAX } from './ask-provider.ts'
import type { Answer, KeyFinding, ModelFinding } from './ask-provider.ts'
import { credentialsState } from './test-connection.ts'
import type { ConnectionTest, Credentials, Reach } from './test-connection.ts'
import { csrfField, pill, statePill } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'

/** A connection and, after a test, its findings. */
interface LlmTestSection {
  readonly session: Session
  readonly connection: LlmConnection
  readonly credentials: Credentials
  readonly test?: ConnectionTest
}

/** The state of a connection's credentials, the findings of a test, and a button to run one. */
export function llmTestSection({ session, connection, credentials, test }: LlmTestSection): Html {
  return html`<section class="card" aria-labelledby="test">
    <div class="card-head"><h2 id="test">Test</h2></div>
    <dl class="findings">
      ${credentialsFinding(credentials, connection)}
      ${test ? html`${reachFindings(test.reach, connection)} ${callFinding(test)}` : ''}
    </dl>
    <form method="post" action="/llm-connections/${connection.id}/test#test">
      ${csrfField(session.csrfToken)}
      <div class="buttons">
        <button class="button">${test ? 'Test again' : 'Test the connection'}</button>
        <button class="button" name="call" value="yes">Call the model</button>
      </div>
    </form>
    <p class="hint">
      The test reads the provider’s list of models with the key. A call asks the model to say a
      word, which costs up to ${CALL_TOKENS_MAX} tokens of output.
    </p>
  </section>`
}

const finding = (subject: string, state: Html, text: Html | string): Html =>
  html`<div>
    <dt>${subject} ${state}</dt>
    <dd>${text}</dd>
  </div>`

function credentialsFinding(credentials: Credentials, { baseUrl }: LlmConnection): Html {
  const state = statePill(credentialsState(credentials))
  return finding('Credentials', state, credentialsText(credentials, baseUrl))
}

function credentialsText({ source, missing }: Credentials, baseUrl: string | null): Html | string {
  if (missing.length > 0) {
    const orPlatform = baseUrl
      ? ''
      : html`, or ask an administrator to set the variable for the platform`
    return html`The provider requires ${missing.map(missingGroup)}. Enter a key here${orPlatform}.`
  }
  if (source === 'connection') return 'The key of this connection.'
  if (source === 'platform') return 'A variable of the platform.'
  return baseUrl
    ? 'Calls go to the base URL without a key.'
    : 'The provider needs no key, or has other credentials.'
}

const missingGroup = (group: readonly string[], index: number): Html =>
  html`${index > 0 ? ' and ' : ''}${group.map(
    (name, at) => html`${at > 0 ? ' or ' : ''}<code>${name}</code>`,
  )}`

function reachFindings(reach: Reach, { model }: LlmConnection): Html {
  switch (reach.kind) {
    case 'answers':
      return html`${providerFinding(reach)} ${finding('Key', KEY_PILLS[reach.key], keyText(reach))}
      ${finding('Model', MODEL_PILLS[reach.model], modelText(reach, model))}`
    case 'unreachable':
      return finding(
        'Provider',
        pill('bad', 'unreachable'),
        html`<span class="mono">${reach.host}</span>: ${reach.error}. Check the network policy and
          the proxy of the platform.`,
      )
    case 'refused':
      return finding('Provider', pill('bad', 'not allowed'), reach.why)
    case 'not_asked':
      return finding('Provider', pill('idle', 'not asked'), WHY_NOT_ASKED[reach.why])
  }
}

const providerFinding = ({ host, status, ms }: Answer): Html =>
  finding(
    'Provider',
    pill('good', 'reachable'),
    html`<span class="mono">${host}</span> answered HTTP ${status} in ${ms} ms.`,
  )

const KEY_PILLS: Readonly<Record<KeyFinding, Html>> = {
  accepted: pill('good', 'accepted'),
  refused: pill('bad', 'refused'),
  required: pill('bad', 'required'),
  not_proven: pill('idle', 'not proven'),
  not_sent: pill('idle', 'none sent'),
}

function keyText({ key, host, status, said, model }: Answer): Html | string {
  switch (key) {
    case 'accepted':
      return 'The provider accepts the key.'
    case 'refused':
      return html`HTTP ${status}${said} Enter the key again, and check what it may be used for.`
    case 'required':
      return html`HTTP ${status}${said} Enter a key.`
    case 'not_proven':
      return model === 'listed' || model === 'not_listed'
        ? html`<span class="mono">${host}</span> lists its models without a key, too.`
        : html`HTTP ${status}${said} A call shows whether the key is accepted.`
    case 'not_sent':
      return 'The call of a model shows whether it needs a key.'
  }
}

const MODEL_PILLS: Readonly<Record<ModelFinding, Html>> = {
  answers: pill('good', 'answers'),
  refused: pill('bad', 'refused'),
  listed: pill('good', 'listed'),
  not_listed: pill('bad', 'not listed'),
  not_checked: pill('idle', 'not checked'),
}

function modelText({ model, host, status, said }: Answer, name: string): Html {
  const mono = html`<span class="mono break">${name}</span>`
  switch (model) {
    case 'answers':
      return html`${mono} answered a call.`
    case 'refused':
      return html`HTTP ${status}${said} Check the name of the model, the base URL and the API.`
    case 'listed':
      return html`${mono} is one of the models that the key may use.`
    case 'not_listed':
      return html`${mono} is not among the models of <span class="mono">${host}</span>. Check its
        name; some providers know more than they list.`
    case 'not_checked':
      return html`A call shows whether ${mono} is known.`
  }
}

const WHY_NOT_ASKED = {
  platform_address:
    'The variables of the platform name a private address, which is not tested. ' +
    'The first run shows whether it answers.',
  unknown: 'The public address of this provider is not known. Enter a base URL.',
  sealed: 'The key was stored with another SECRET_KEY_BASE. Enter the key again.',
} as const

/** Says `usable` only of a model that answered, or is listed for a key that was accepted. */
function callFinding({ chatUrl, reach, credentials }: ConnectionTest): Html {
  return chatUrl === undefined
    ? finding(
        'Crews',
        pill('bad', 'not usable'),
        'This provider has no known OpenAI-compatible address. Enter a base URL.',
      )
    : finding(
        'Crews',
        credentials.missing.length > 0 ? pill('idle', 'not proven') : usePill(reach),
        html`They call <span class="mono break">${chatUrl}</span>`,
      )
}

function usePill(reach: Reach): Html {
  const { key, model } = reach.kind === 'answers' ? reach : NOTHING
  if (key === 'refused' || key === 'required' || model === 'refused') {
    return pill('bad', 'not usable')
  }
  const isUsable = model === 'answers' || (model === 'listed' && key === 'accepted')
  return isUsable ? pill('good', 'usable') : pill('idle', 'not proven')
}

const NOTHING = { key: 'not_sent', model: 'not_checked' } as const
