import { html } from 'hono/html'
import type { Page, PageRequest } from '../../../shared/postgres/paging.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import type { TraceToken } from '../../../platform/traces/trace-tokens.ts'
import { plural } from '../frame/format.ts'
import { page as frame } from '../frame/layout.ts'
import { isEmpty, nothingHere, pager, searchBox } from '../frame/lists/pager.ts'
import type { PagedList } from '../frame/lists/pager.ts'
import { copyable, csrfField, noticeBox, problemBox, warningBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { traceTabs } from '../frame/trace-tabs.ts'
import { environmentCommands } from './environment.ts'
import type { Setting } from './settings.ts'
import { DAYS_MAX } from './token-form.ts'
import type { TokenForm } from './token-form.ts'
import { noTokens, tokenTable } from './token-table.ts'

/** The page that shows how programs send traces. */
export interface SendTracesPage {
  readonly session: Session
  readonly endpoint: string
  readonly tokens: Page<TraceToken>
  readonly request: PageRequest
  /** Tokens that end within a week. */
  readonly expiring: number
  readonly form: TokenForm
  readonly settings: readonly Setting[]
  /** The one that is shown. */
  readonly setting: Setting
  readonly notice: string | undefined
  /** What was wrong with the form, apart from its fields. */
  readonly problem: string | undefined
}

/** Tokens of the trace collector, the variables to set, and a program for each library. */
export function sendTracesPage(view: SendTracesPage): Html {
  const { session, endpoint, notice, problem, expiring } = view
  return frame(
    { title: 'Send traces', session, current: '/traces' },
    html`<div class="page-head">
        <div>
          <h1>Send traces</h1>
          <p class="hint">
            Any program that speaks OpenTelemetry sends its traces to
            <code class="select">${endpoint}</code>.
          </p>
        </div>
      </div>
      ${traceTabs('/send-traces')} ${noticeBox(notice)} ${problemBox(problem)}
      ${expiring > 0 ? warningBox(expiryWarning(expiring)) : ''} ${tokensSection(view)}
      ${environmentSection(endpoint)} ${programSection(view)}`,
  )
}

const expiryWarning = (expiring: number): string =>
  `${plural(expiring, 'token')} ${expiring === 1 ? 'expires' : 'expire'} within a week. ` +
  'Issue a new one, give it to the program, and revoke the old one.'

function tokensSection({ session, tokens, request, form }: SendTracesPage): Html {
  const list: PagedList = {
    path: '/send-traces',
    noun: 'token',
    searched: 'Name or id',
    page: tokens,
    request,
  }
  const noRows = (): Html => (isEmpty(list) ? noTokens() : nothingHere(list))
  return html`<section class="card flush" id="tokens" aria-labelledby="tokens-title">
      <div class="card-head">
        <h2 id="tokens-title">1. Get a token</h2>
        ${searchBox(list)}
      </div>
      ${tokens.items.length > 0 ? tokenTable(tokens.items) : noRows()}
      ${issueForm(session.csrfToken, form)}
    </section>
    ${pager(list)}`
}

function issueForm(csrfToken: string, { name, scope, days, problems }: TokenForm): Html {
  return html`<form method="post" action="/send-traces/tokens" class="card-foot">
    ${csrfField(csrfToken)} ${problemBox(problems.name)} ${problemBox(problems.days)}
    <div class="row">
      <label class="grow"
        >New token
        <input
          name="name"
          value="${name}"
          maxlength="100"
          placeholder="The program that will use it"
          autocomplete="off"
          ${problems.name === undefined ? '' : html`aria-invalid="true"`}
          required
        />
      </label>
      <label
        >Scope
        <select name="scope">
          <option value="traces:write" ${scope === 'traces:write' ? html`selected` : ''}>
            Send traces
          </option>
          <option value="traces:read" ${scope === 'traces:read' ? html`selected` : ''}>
            Read traces
          </option>
        </select>
      </label>
      <label
        >Days
        <input
          name="days"
          type="number"
          min="1"
          max="${DAYS_MAX}"
          value="${days}"
          ${problems.days === undefined ? '' : html`aria-invalid="true"`}
          required
        />
      </label>
      <button class="button">Issue token</button>
    </div>
  </form>`
}

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
