import { html } from 'hono/html'
import type { Session } from '../../../platform/people/sessions.ts'
import { page } from '../frame/layout.ts'
import { problemBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { connectionForm } from './fields.ts'
import type { FieldProblems, TypedConnection } from './form.ts'
import type { OfferedProviders } from './service.ts'
import { providerName, SHAPES } from './shapes.ts'

/** The choice of what to connect to. */
interface ChoosePage {
  readonly session: Session
  /** The operator's providers; undefined: the OAuth service did not answer. */
  readonly offered: OfferedProviders | undefined
  readonly problem?: string | undefined
}

const crumbs = (): Html =>
  html`<nav class="crumbs" aria-label="Breadcrumb">
    <a href="/connections">Connections</a>
  </nav>`

/** The page on which a person chooses what to connect to. */
export function choosePage({ session, offered, problem }: ChoosePage): Html {
  const ready = (offered?.providers ?? []).map(({ name, scopes }) => ({
    key: name,
    name,
    summary: `Set up by the operator. ${scopes.length > 0 ? `Scopes: ${scopes.join(', ')}` : ''}`,
  }))
  return page(
    { title: 'New connection', session, current: '/connections' },
    html`${crumbs()}
      <div class="page-head">
        <div>
          <h1>New connection</h1>
          <p class="hint">Choose what it is for. Everything can be changed in the next step.</p>
        </div>
      </div>
      ${problemBox(problem)} ${ready.length > 0 ? choices('Ready to use', 'operator', ready) : ''}
      ${choices('With a client of your own', 'shape', SHAPES.slice(0, -5))}
      ${choices('Anything else', 'shape', SHAPES.slice(-5))}`,
  )
}

interface Choice {
  readonly key: string
  readonly name: string
  readonly summary: string
}

const choices = (title: string, parameter: string, offered: readonly Choice[]): Html =>
  html`<section class="card flush" aria-label="${title}">
    <div class="card-head"><h2>${title}</h2></div>
    <ul class="shapes">
      ${offered.map(
        ({ key, name, summary }) =>
          html`<li>
            <a href="/new-connection?${parameter}=${encodeURIComponent(key)}"
              ><strong>${name}</strong><span class="sub">${summary}</span></a
            >
          </li>`,
      )}
    </ul>
  </section>`

/** The form of a new connection, with what was typed. */
interface NewConnectionPage {
  readonly session: Session
  readonly typed: TypedConnection
  readonly callbackUrl: string | undefined
  readonly problems?: FieldProblems
  readonly problem?: string | undefined
}

/** The page with the form of a new connection. */
export function newConnectionPage(view: NewConnectionPage): Html {
  const { session, typed, callbackUrl, problems = {}, problem } = view
  const { provider, kind } = typed
  return page(
    { title: 'New connection', session, current: '/connections' },
    html`<nav class="crumbs" aria-label="Breadcrumb">
        <a href="/connections">Connections</a><a href="/new-connection">New connection</a>
      </nav>
      <div class="page-head"><h1>${providerName(provider)}</h1></div>
      <div class="card narrow">
        ${problemBox(problem ?? otherProblem(problems))}
        ${connectionForm({
          session,
          action: '/connections',
          verb: kind === 'static_token' || kind === 'identity' ? 'Save' : 'Save and connect',
          typed,
          problems,
          isSaved: false,
          hasSecret: false,
          callbackUrl,
        })}
      </div>`,
  )
}

/** A problem with what has no field. */
export const otherProblem = (problems: FieldProblems): string | undefined =>
  problems['provider'] ?? problems['kind'] ?? problems['body']
