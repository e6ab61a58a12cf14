import type { Context } from 'hono'
import { html } from 'hono/html'
import type { Automation } from '../../../platform/automations/automations.ts'
import type { Page, PageRequest } from '../../../shared/postgres/paging.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import type { ListedToken } from '../../../platform/automations/static-tokens.ts'
import type { SignedIn } from '../../context.ts'
import { automationHead } from '../frame/automation-tabs.ts'
import { page as frame } from '../frame/layout.ts'
import { countLine, isEmpty, nothingHere, pager, searchBox } from '../frame/lists/pager.ts'
import type { PagedList } from '../frame/lists/pager.ts'
import { noTokens, tokensTable } from '../frame/lists/tokens-table.ts'
import { emptyState, noticeBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { issueSection } from './issue-section.ts'
import type { IssueSection } from './issue-section.ts'

/** One page of a list of tokens. */
export interface TokensPage {
  readonly session: Session
  readonly page: Page<ListedToken>
  readonly request: PageRequest
  readonly notice?: string | undefined
}

/** All static tokens of an organization, by page and by search. */
export function tokensPage({ session, page, request, notice }: TokensPage): Html {
  const list = { path: '/tokens', noun: 'token', page, request }
  const nothing = emptyState(
    'key',
    'No tokens yet',
    'Issue one on the page of the automation that it is for.',
  )
  return frame(
    { title: 'Tokens', session, current: '/tokens' },
    html`<div class="page-head">
        <div>
          <h1>Tokens</h1>
          <p class="hint">${countLine(list, ` of ${session.organization}`)}</p>
        </div>
        ${searchBox(list)} <a class="button push" href="/automations">Automations</a>
      </div>
      ${noticeBox(notice)} ${tokensCard(list, nothing)}`,
  )
}

/** The static tokens of an automation, and the form that issues one. */
export interface AutomationTokensPage extends TokensPage, IssueSection {}

/** Reads one page of the tokens of an automation. */
export type ReadTokensPage = (
  c: Context<SignedIn>,
  automation: Automation,
) => Promise<AutomationTokensPage>

/** The static tokens that may call an automation, by page and by search. */
export function automationTokensPage(view: AutomationTokensPage): Html {
  const { session, automation, page, request } = view
  const path = `/automations/${automation.automationId}/tokens`
  const list = { path, noun: 'token', page, request }
  return frame(
    { title: `${automation.name}: tokens`, session, current: '/automations' },
    html`${automationHead({ automation, tab: 'tokens', aside: searchBox(list) })}
      <p class="hint list-hint">${countLine(list, ' may call this automation')}</p>
      ${tokensCard(list, noTokens())} ${issueSection(view)}`,
  )
}

const tokensCard = (list: PagedList & { page: Page<ListedToken> }, nothing: Html): Html =>
  html`<section class="card flush" aria-label="Static tokens">
      ${list.page.items.length > 0 ? tokensTable(list.page.items) : noRows(list, nothing)}
    </section>
    ${pager(list)}`

const noRows = (list: PagedList, nothing: Html): Html =>
  isEmpty(list) ? nothing : nothingHere(list)
