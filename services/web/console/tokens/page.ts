import { html } from 'hono/html'
import type { Automation } from '../../../platform/automations.ts'
import type { Page, PageRequest } from '../../../platform/paging.ts'
import type { Session } from '../../../platform/sessions.ts'
import type { ListedToken } from '../../../platform/static-tokens.ts'
import { page as frame } from '../frame/layout.ts'
import { countLine, isEmpty, nothingHere, pager, searchBox } from '../frame/lists/pager.ts'
import type { PagedList } from '../frame/lists/pager.ts'
import { noTokens, tokensTable } from '../frame/lists/tokens-table.ts'
import { emptyState, noticeBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'

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

/** The static tokens that may call an automation, by page and by search. */
export function automationTokensPage(
  { session, page, request }: TokensPage,
  { automationId, name }: Automation,
): Html {
  const back = `/automations/${automationId}`
  const list = { path: `${back}/tokens`, noun: 'token', page, request }
  return frame(
    { title: 'Static tokens', session, current: '/automations' },
    html`<nav class="crumbs" aria-label="Breadcrumb">
        <a href="/automations">Automations</a><a href="${back}">${name}</a>
      </nav>
      <div class="page-head">
        <div>
          <h1>Static tokens</h1>
          <p class="hint">${countLine(list, ' may call this automation')}</p>
        </div>
        ${searchBox(list)}
        <a class="button push" href="${back}#tokens">New token</a>
      </div>
      ${tokensCard(list, noTokens())}`,
  )
}

const tokensCard = (list: PagedList & { page: Page<ListedToken> }, nothing: Html): Html =>
  html`<section class="card flush" aria-label="Static tokens">
      ${list.page.items.length > 0 ? tokensTable(list.page.items) : noRows(list, nothing)}
    </section>
    ${pager(list)}`

const noRows = (list: PagedList, nothing: Html): Html =>
  isEmpty(list) ? nothing : nothingHere(list)
