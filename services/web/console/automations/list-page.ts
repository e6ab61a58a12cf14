import { html } from 'hono/html'
import type { AutomationActivity } from '../../../platform/activity.ts'
import type { Session } from '../../../platform/sessions.ts'
import type { Page, PageRequest } from '../../../platform/paging.ts'
import { page as frame } from '../frame/layout.ts'
import { noAutomations } from '../frame/lists/no-automations.ts'
import { countLine, isEmpty, nothingHere, pager, searchBox } from '../frame/lists/pager.ts'
import type { PagedList } from '../frame/lists/pager.ts'
import { automationsTable } from '../frame/lists/automations-table.ts'
import { noticeBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'

/** One page of the list of automations. */
export interface AutomationsPage {
  readonly session: Session
  readonly page: Page<AutomationActivity>
  readonly request: PageRequest
  readonly baseUrl: string
  readonly notice?: string | undefined
}

/** The list of automations, by page and by search. */
export function automationsPage(view: AutomationsPage): Html {
  const { session, page, request, baseUrl, notice } = view
  const list = { path: '/automations', noun: 'automation', page, request }
  return frame(
    { title: 'Automations', session, current: '/automations' },
    html`<div class="page-head">
        <div>
          <h1>Automations</h1>
          <p class="hint">
            ${countLine(list, ` of ${session.organization}`)} ·
            <a href="/new-automation">New automation from source</a> ·
            <a href="/import-project">Import a CrewAI project</a>
          </p>
        </div>
        ${searchBox(list)}
      </div>
      ${noticeBox(notice)}
      <section class="card flush" aria-label="Automations">
        ${page.items.length > 0 ? automationsTable(page.items) : noRows(list, baseUrl)}
      </section>
      ${pager(list)}`,
  )
}

const noRows = (list: PagedList, baseUrl: string): Html =>
  isEmpty(list) ? noAutomations(baseUrl) : nothingHere(list)
