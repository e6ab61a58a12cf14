import { html } from 'hono/html'
import type {
  ConnectionKind,
  OauthConnection,
} from '../../../platform/connections/oauth-connections.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { page } from '../frame/layout.ts'
import {
  copyable,
  csrfField,
  factList,
  noticeBox,
  problemBox,
  time,
  warningBox,
} from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { finalForm } from '../frame/undo.ts'
import { connectionForm } from './fields.ts'
import { toTyped } from './form.ts'
import type { FieldProblems, TypedConnection } from './form.ts'
import { otherProblem } from './new-page.ts'
import type { TestResult } from './service.ts'
import { providerName } from './shapes.ts'
import { lifeOf, stateOf, statePill } from './state.ts'

/** A connection with the state of its page. */
export interface ConnectionPage {
  readonly session: Session
  readonly connection: OauthConnection
  /** The address that providers send browsers back to, where it is known. */
  readonly callbackUrl: string | undefined
  readonly notice?: string | undefined
  /** What went wrong with the last action. */
  readonly problem?: string | undefined
  /** A form that was refused: what was typed, and what is wrong with it. */
  readonly typed?: TypedConnection
  readonly problems?: FieldProblems
  /** The findings of a test that was just run. */
  readonly test?: TestResult
}

/** The page of a connection: its state, its settings, how tools use it, its end. */
export function connectionPage(view: ConnectionPage): Html {
  const { session, connection, notice, problem, problems = {} } = view
  const { name, provider } = connection
  return page(
    { title: name, session, current: '/connections' },
    html`<nav class="crumbs" aria-label="Breadcrumb">
        <a href="/connections">Connections</a>
      </nav>
      <div class="page-head">
        <div>
          <h1>${name}</h1>
          <p class="hint">${providerName(provider)}</p>
        </div>
      </div>
      ${noticeBox(notice)} ${problemBox(problem)}
      <div class="columns">
        <section class="card" aria-labelledby="settings">
          <div class="card-head"><h2 id="settings">Settings</h2></div>
          ${problemBox(otherProblem(problems))} ${settingsOf(view, problems)}
        </section>
        <div>${stateSection(view)} ${useSection(connection)} ${endSection(view)}</div>
      </div>`,
  )
}

function settingsOf(view: ConnectionPage, problems: FieldProblems): Html {
  const { session, connection, callbackUrl } = view
  const typed = view.typed ?? toTyped(connection)
  return html`${
      connection.settings === null
        ? html`<p class="hint">The operator has set up this provider.</p>`
        : ''
    }
    ${connectionForm({
      session,
      action: `/connections/${connection.id}`,
      verb: 'Save',
      typed,
      problems,
      isSaved: true,
      hasSecret: connection.hasClientSecret,
      callbackUrl,
    })}
    <p class="hint">
      A change of addresses, scopes or places ends the present token, so that it goes nowhere else:
      connect the connection again then.
    </p>`
}

function stateSection({ session, connection, test }: ConnectionPage): Html {
  const { scope, authorizedAt, refreshedAt } = connection
  const { advice } = stateOf(connection)
  return html`<section class="card" aria-labelledby="state">
    <div class="card-head">
      <h2 id="state">State</h2>
      ${statePill(connection)}
    </div>
    ${advice && !test ? warningBox(advice) : ''} ${test ? testFinding(test) : ''}
    ${factList('facts', [
      ['Token', lifeOf(connection)],
      ...(scope ? ([['Scopes', html`<span class="mono break">${scope}</span>`]] as const) : []),
      ...(authorizedAt ? ([['Connected', time(authorizedAt)]] as const) : []),
      ...(refreshedAt ? ([['Renewed', time(refreshedAt)]] as const) : []),
    ])}
    ${stateButtons(session, connection)}
  </section>`
}

/** Nobody connects what has a token, or is given one for each run. */
const UNCONNECTED: readonly ConnectionKind[] = ['static_token', 'identity']

function stateButtons(session: Session, { id, kind, status }: OauthConnection): Html {
  const button = (path: string, text: string, look = ''): Html =>
    html`<form method="post" action="/connections/${id}/${path}">
      ${csrfField(session.csrfToken)}<button class="button ${look}">${text}</button>
    </form>`
  const connect =
    status === 'connected'
      ? button('connect', 'Connect again')
      : button('connect', 'Connect', 'primary')
  return html`<div class="buttons">
    ${UNCONNECTED.includes(kind) ? '' : connect}
    ${status === 'connected' ? button('test', 'Test') : ''}
    ${status === 'connected' && kind !== 'identity' ? button('revoke', 'Revoke') : ''}
  </div>`
}

const testFinding = ({ ok, message }: TestResult): Html =>
  html`${ok ? noticeBox(message) : problemBox(message)}`

const useSection = ({ name }: OauthConnection): Html =>
  html`<section class="card" aria-labelledby="use">
    <div class="card-head"><h2 id="use">Use it in a tool</h2></div>
    <p class="hint">A tool of type mcp or http names it; its token goes along with each call.</p>
    ${copyable('Line of a tool', `"connection": "${name}"`)}
  </section>`

const endSection = ({ session, connection }: ConnectionPage): Html =>
  html`<section class="card" aria-labelledby="delete">
    <div class="card-head"><h2 id="delete">Delete</h2></div>
    <p class="hint">
      Its tokens are revoked at the provider, where that is possible. Runs whose tools name it fail.
    </p>
    ${finalForm(session, {
      action: `/connections/${connection.id}/delete`,
      what: 'Delete this connection',
    })}
  </section>`
