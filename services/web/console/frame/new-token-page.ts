import { html } from 'hono/html'
import type { Session } from '../../../platform/people/sessions.ts'
import type { TokenLimits } from '../../../platform/automations/token-limits.ts'
import { inputsCommand } from './commands.ts'
import { page } from './layout.ts'
import { copyable, factList, warningBox } from './parts.ts'
import type { Html } from './parts.ts'
import { endOfToken, scopeText } from './token-facts.ts'

/** A token that was just issued. */
export interface NewTokenPage {
  readonly session: Session
  /** The entry of the navigation. @default /tokens */
  readonly current?: string
  readonly name: string
  readonly token: string
  /** What it is for, such as an automation; none: every automation of the organization. */
  readonly automation: string | undefined
  readonly limits: TokenLimits
  /** The API of an automation, to try it. */
  readonly apiUrl?: string | undefined
  /** Commands that use the token, each under its label. */
  readonly commands?: readonly (readonly [label: string, text: string])[]
  /** What else there is to know, in a sentence. */
  readonly hint?: string
  /** The pages above this one; the last one is gone back to. */
  readonly crumbs: readonly { readonly path: string; readonly name: string }[]
}

/** The only page that shows a token (SPEC 5.2). */
export function newTokenPage(view: NewTokenPage): Html {
  const { session, name, token, automation, limits, apiUrl, hint, crumbs, commands = [] } = view
  return page(
    { title: 'New token', session, current: view.current ?? '/tokens' },
    html`<nav class="crumbs" aria-label="Breadcrumb">
        ${crumbs.map((each) => html`<a href="${each.path}">${each.name}</a>`)}
      </nav>
      <div class="page-head"><h1>Your new token</h1></div>
      <div class="card narrow">
        ${warningBox('Copy the token now. It is not shown again.')}
        ${factList('facts', [
          ['Name', name],
          ['Valid for', automation ?? `Every automation of ${session.organization}`],
          ['It may', scopeText(limits)],
          ['Ends', endOfToken(limits, Date.now())],
        ])}
        ${copyable('Token', token)} ${hint === undefined ? '' : html`<p class="hint">${hint}</p>`}
        ${apiUrl === undefined || !limits.scopes.includes('read') ? '' : trial(apiUrl, token)}
        ${commands.map(
          ([label, text]) =>
            html`<p class="hint">${label}:</p>
              ${copyable(label, text)}`,
        )}
        <p><a class="button primary" href="${crumbs.at(-1)?.path}">I have copied it</a></p>
      </div>`,
  )
}

const trial = (apiUrl: string, token: string): Html =>
  html`<p class="hint">To try it, ask which inputs the automation needs:</p>
    ${copyable('Command that tries the token', inputsCommand(apiUrl, token))}`
