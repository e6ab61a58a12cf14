import { html } from 'hono/html'
import type { Session } from '../../../platform/people/sessions.ts'
import type { TraceScope } from '../../../platform/traces/trace-tokens.ts'
import { absoluteTime } from '../frame/format.ts'
import { page } from '../frame/layout.ts'
import { copyable, warningBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { environmentCommands, readCommand } from './environment.ts'
import { scopeName } from './token-table.ts'

/** A token of the trace collector that was just issued. */
export interface NewTokenPage {
  readonly session: Session
  readonly name: string
  readonly scope: TraceScope
  readonly tokenId: string
  readonly expiresAt: Date
  readonly token: string
  readonly endpoint: string
}

/** The only page that shows a token of the trace collector. */
export function newTokenPage(view: NewTokenPage): Html {
  const { session, name, scope, tokenId, expiresAt, token } = view
  return page(
    { title: 'New token', session, current: '/traces' },
    html`<nav class="crumbs" aria-label="Breadcrumb">
        <a href="/traces">Traces</a><a href="/send-traces">Send traces</a>
      </nav>
      <div class="page-head"><h1>Your new token</h1></div>
      <div class="card narrow">
        ${warningBox('Copy the token now. It is not shown again.')}
        <dl class="facts">
          <dt>Name</dt>
          <dd class="break">${name}</dd>
          <dt>Scope</dt>
          <dd>${scopeName(scope)} traces of ${session.organization}</dd>
          <dt>Id</dt>
          <dd class="mono break">${tokenId}</dd>
          <dt>Expires</dt>
          <dd>${absoluteTime(expiresAt)}</dd>
        </dl>
        ${copyable('Token', token)} ${use(view)}
        <p><a class="button primary" href="/send-traces#program">I have copied it</a></p>
      </div>`,
  )
}

const use = ({ scope, endpoint, token }: NewTokenPage): Html =>
  scope === 'traces:write'
    ? html`<p class="hint">The variables that OpenTelemetry SDKs read, with the token in them:</p>
        ${copyable('Commands that set the variables', environmentCommands(endpoint, token))}`
    : html`<p class="hint">To try it, list the latest traces:</p>
        ${copyable('Command that lists traces', readCommand(endpoint, token))}`
