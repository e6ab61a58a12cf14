import type { Hono } from 'hono'
import { html } from 'hono/html'
import { countExpiringTokens } from '../../../platform/traces/trace-tokens.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { tokensOf } from '../../nouns/trace-tokens.ts'
import { createRoom } from '../frame/room.ts'
import { plural } from '../frame/format.ts'
import { page as frame } from '../frame/layout.ts'
import { copyable, warningBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { traceTabs } from '../frame/trace-tabs.ts'
import { createSettings } from './settings.ts'
import type { Setting } from './settings.ts'
import { environmentCommands } from './environment.ts'

/** Serves the page that shows how to send traces. */
export function sendTracesRoutes(deps: WebDeps): Hono<SignedIn> {
  const settings = createSettings()
  const room = createRoom(deps, {})
  room.page('viewer', '/send-traces', async (c) => {
    const { endpoint } = tokensOf(deps)
    const { session } = c.var
    const expiring = await countExpiringTokens(deps.sql, session.user.organizationId)
    const setting = settings.find(c.req.query('for') ?? '')
    return c.html(sendTracesPage({ session, endpoint, expiring, settings: settings.all, setting }))
  })
  return room.routes
}

/** The page that shows how programs send traces. */
interface SendTracesPage {
  readonly session: Session
  readonly endpoint: string
  /** Tokens that end within a week. */
  readonly expiring: number
  readonly settings: readonly Setting[]
  /** The one that is shown. */
  readonly setting: Setting
}

/** Tokens of the trace collector, the variables to set, and a program for each library. */
function sendTracesPage(view: SendTracesPage): Html {
  const { session, endpoint, expiring } = view
  return frame(
    { title: 'Send traces', session, current: '/traces' },
    html`<div class="page-head with-views">
        <h1>Send traces</h1>
        ${traceTabs('/send-traces')}
      </div>
      <p class="hint list-hint">
        Any program that speaks OpenTelemetry sends its traces to
        <code class="select">${endpoint}</code>.
      </p>
      ${expiring > 0 ? warningBox(expiryWarning(expiring)) : ''} ${tokensSection()}
      ${environmentSection(endpoint)} ${programSection(view)}`,
  )
}

const expiryWarning = (expiring: number): string =>
  `${plural(expiring, 'token')} ${expiring === 1 ? 'expires' : 'expire'} within a week. ` +
  'Issue a new one, give it to the program, and delete the old one.'

const tokensSection = (): Html =>
  html`<section class="card" id="tokens" aria-labelledby="tokens-title">
    <div class="card-head"><h2 id="tokens-title">1. Get a token</h2></div>
    <p class="hint">Each program has one of its own, so that it can be deleted alone.</p>
    <p><a class="button primary" href="/trace-tokens">Trace tokens</a></p>
    <p class="hint">
      Spans that are stored here can go on to another backend, too:
      <a href="/trace-forwards">Trace forwards</a>. <a href="/trace-score-rules">Scores</a>: checks
      of what traces answer.
    </p>
  </section>`

const environmentSection = (endpoint: string): Html =>
  html`<section class="card" aria-labelledby="environment-title">
    <div class="card-head"><h2 id="environment-title">2. Set the variables</h2></div>
    <p class="hint">
      Every OpenTelemetry SDK reads these. The page of a new token shows them with the token in
      them.
    </p>
    ${copyable('Commands that set the variables', environmentCommands(endpoint))}
  </section>`

function programSection({ settings, setting }: SendTracesPage): Html {
  return html`<section class="card" id="program" aria-labelledby="program-title">
    <div class="card-head"><h2 id="program-title">3. Run a program</h2></div>
    <nav class="filter" aria-label="Languages and libraries">
      ${settings.map(
        ({ key, name }) =>
          html`<a
            href="/send-traces?for=${key}#program"
            ${key === setting.key ? html`aria-current="page"` : ''}
            >${name}</a
          >`,
      )}
    </nav>
    <p class="hint">${setting.hint}</p>
    ${setting.files.map(
      ({ name, text }) =>
        html`<h3 class="file-name"><code>${name}</code></h3>
          ${copyable(`File ${name}`, text)}`,
    )}
    <p class="hint">Install what it needs:</p>
    ${copyable('Commands that install', setting.install)}
    <p class="hint">
      Run it in the shell that has the variables; its trace appears in
      <a href="/traces">Traces</a> within seconds.
    </p>
    ${copyable('Command that runs it', setting.run)}
  </section>`
}
