import { html } from 'hono/html'
import type { AutomationActivity } from '../../../platform/runs/activity.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import type { Page, PageRequest } from '../../../shared/postgres/paging.ts'
import { page as frame } from '../frame/layout.ts'
import { newAutomation, noAutomations } from '../frame/lists/no-automations.ts'
import { countLine, isEmpty, nothingHere, pager, searchBox } from '../frame/lists/pager.ts'
import type { PagedList } from '../frame/lists/pager.ts'
import { automationsTable } from '../frame/lists/automations-table.ts'
import { noticeBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'

/** One page of the list of automations. */
interface AutomationsPage {
  readonly session: Session
  readonly page: Page<AutomationActivity>
  readonly request: PageRequest
  readonly notice?: string | undefined
}

/** The list of automations, by page and by search. */
export function automationsPage(view: AutomationsPage): Html {
  const { session, page, request, notice } = view
  const list = { path: '/automations', noun: 'automation', page, request }
  return frame(
    { title: 'Automations', session, current: '/automations' },
    html`<div class="page-head">
        <div>
          <h1>Automations</h1>
          <p class="hint">${countLine(list, ` of ${session.organization}`)}</p>
        </div>
        ${searchBox(list)}
        <div class="buttons push">${newAutomation()}</div>
      </div>
      ${noticeBox(notice)}
      <section class="card flush" aria-label="Automations">
        ${page.items.length > 0 ? automationsTable(page.items) : noRows(list)}
      </section>
      ${pager(list)}`,
  )
}

const noRows = (list: PagedList): Html => (isEmpty(list) ? noAutomations() : nothingHere(list))
