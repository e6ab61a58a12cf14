import type { Hono } from 'hono'
import { html } from 'hono/html'
import { isUuid, listAutomations } from '../../../platform/automations/automations.ts'
import { listProjectPage } from '../../../platform/projects/projects.ts'
import { findRunRecord } from '../../../platform/runs/run-history.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { runPath } from '../frame/addresses.ts'
import { readText } from '../frame/lists/filter-bar.ts'
import { createRoom } from '../frame/room.ts'
import { page } from '../frame/layout.ts'
import { emptyState, listTable } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'

const EACH_MAX = 8

/** Serves the search over all that has a name, as a page and for the palette of the console. */
export function findRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql } = deps
  const room = createRoom(deps)

  room.page('viewer', '/find', async (c) => {
    const text = readText(c.req.query('q'))
    const { organizationId } = c.var.session.user
    const entries = text === undefined ? [] : await findEntries(sql, organizationId, text)
    return c.html(findPage({ session: c.var.session, text, entries }))
  })

  room.page('viewer', '/find/entries', async (c) => {
    const text = readText(c.req.query('q'))
    const { organizationId } = c.var.session.user
    const entries = text === undefined ? [] : await findEntries(sql, organizationId, text)
    return c.json({ entries })
  })

  return room.routes
}

async function findEntries(
  sql: Database,
  organizationId: number,
  search: string,
): Promise<readonly Entry[]> {
  const request = { limit: EACH_MAX, search }
  const [automations, projects, run] = await Promise.all([
    listAutomations(sql, organizationId, request),
    listProjectPage(sql, organizationId, request),
    isUuid(search) ? findRunRecord(sql, { organizationId, id: search }) : undefined,
  ])
  return [
    ...automations.items.map(({ automationId, name }) => ({
      kind: 'Automation',
      name,
      path: `/automations/${automationId}`,
    })),
    ...projects.items.map(({ id, name }) => ({ kind: 'Project', name, path: `/projects/${id}` })),
    ...(run?.automationId ? [{ kind: 'Run', name: run.id, path: runPath(run, run) }] : []),
  ]
}

/** Something that has a page. */
interface Entry {
  readonly kind: string
  readonly name: string
  readonly path: string
}

/** What a search over everything found. */
interface FindPage {
  readonly session: Session
  /** The text searched for, if there is one. */
  readonly text: string | undefined
  readonly entries: readonly Entry[]
}

/** The search over automations, projects and runs. */
const findPage = ({ session, text, entries }: FindPage): Html =>
  page(
    { title: 'Search', session },
    html`<div class="page-head"><h1>Search</h1></div>
      <form class="card list-filter" role="search" action="/find">
        <div class="row">
          <label class="grow"
            >Name of an automation or a project, or the id of a run
            <input
              type="search"
              name="q"
              value="${text ?? ''}"
              maxlength="100"
              autocomplete="off"
              autofocus
            />
          </label>
          <button class="button primary">Search</button>
        </div>
      </form>
      ${text === undefined ? '' : found(text, entries)}`,
  )

const found = (text: string, entries: readonly Entry[]): Html =>
  html`<section class="card flush" aria-label="Found">
    ${
      entries.length === 0
        ? emptyState(
            'search',
            'Nothing found',
            html`No automation and no project has this in its name.
              <a href="/executions?text=${encodeURIComponent(text)}"
                >Search the inputs and outputs of runs</a
              >`,
          )
        : listTable(
            'Found',
            ['Name', 'Kind'],
            entries.map(
              ({ kind, name, path }) =>
                html`<tr>
                  <td class="lead"><a class="break" href="${path}">${name}</a></td>
                  <td data-label="Kind" class="quiet">${kind}</td>
                </tr>`,
            ),
          )
    }
  </section>`
