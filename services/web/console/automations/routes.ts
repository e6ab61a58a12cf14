import type { Hono } from 'hono'
import { html } from 'hono/html'
import { listAutomationActivity } from '../../../platform/runs/activity.ts'
import type { AutomationActivity } from '../../../platform/runs/activity.ts'
import { reserveRun } from '../../../platform/batches/reserve-batch.ts'
import { findRun, kickoff } from '../../../platform/runs/runs.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Queryable } from '../../../shared/postgres/database.ts'
import type { Page, PageRequest } from '../../../shared/postgres/paging.ts'
import { getDefinition } from '../../../platform/automations/automations.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { toStarter } from '../../gate/callers/starter.ts'
import { isUuidCursor, readPageRequest } from '../frame/lists/page-request.ts'
import { getOwnAutomation } from '../frame/own-automation.ts'
import { toTexts } from '../frame/start-form.ts'
import { createRoom } from '../frame/room.ts'
import { page as frame } from '../frame/layout.ts'
import { newAutomation, noAutomations } from '../frame/lists/no-automations.ts'
import { countLine, isEmpty, nothingHere, pager, searchBox } from '../frame/lists/pager.ts'
import type { PagedList } from '../frame/lists/pager.ts'
import { automationsTable } from '../frame/lists/automations-table.ts'
import { noticeBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { runPath } from '../frame/addresses.ts'
import { startOnceKey } from '../frame/start-once.ts'
import { createRunFormReader } from '../frame/run-form.ts'
import { automationPage } from './page.ts'
import { createPageReader } from './read-page.ts'
import type { ReadAutomationPage } from './read-page.ts'
import { tabRoutes } from './tab-routes.ts'

/** Serves the list of automations, and the pages of each with their forms. */
export function automationRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql } = deps
  const room = createRoom(deps)
  const readPage = createPageReader(deps)

  room.page('viewer', '/automations', async (c) => {
    const { session, notice } = c.var
    const request = readPageRequest(c, isUuidCursor)
    const page = await listAutomationActivity(sql, session.user.organizationId, request)
    return c.html(automationsPage({ session, page, request, notice }))
  })

  room.page('viewer', '/automations/:automationId', async (c) => {
    const automation = await getOwnAutomation(c, sql)
    const page = await readPage(c, automation)
    const earlier = await findRun(sql, automation.id, c.req.query('from') ?? '')
    const startForm = earlier && { inputs: toTexts(earlier.inputs) }
    return c.html(automationPage({ ...page, startForm, notice: c.var.notice }))
  })

  room.routes.route('/', startRoutes(deps, readPage))
  room.routes.route('/', tabRoutes(deps))
  return room.routes
}

/** One page of the list of automations. */
interface AutomationsPage {
  readonly session: Session
  readonly page: Page<AutomationActivity>
  readonly request: PageRequest
  readonly notice?: string | undefined
}

/** The list of automations, by page and by search. */
function automationsPage(view: AutomationsPage): Html {
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

/** Starts a run with the form of an automation's page. */
function startRoutes(deps: WebDeps, readPage: ReadAutomationPage): Hono<SignedIn> {
  const { sql } = deps
  const room = createRoom(deps)
  const readRunForm = createRunFormReader(deps)
  const path = '/automations/:automationId/executions'

  room.upload('editor', path, async (c) => {
    const automation = await getOwnAutomation(c, sql)
    const definition = await getDefinition(sql, automation)
    const { form, texts, prepared, problem } = await readRunForm(c, () => ({
      automation,
      definition,
    }))
    const reserves = form.get('reserve') === 'true'
    const refuse = async (why: string, status: 409 | 422) => {
      const page = await readPage(c, automation)
      const startForm = { inputs: texts, reserves, problem: why }
      return c.html(automationPage({ ...page, startForm }), status)
    }
    if (problem !== undefined) return refuse(problem, 422)
    const idempotencyKey = startOnceKey(form.get('start_once'), texts)
    const starter = toStarter(c.var.actor, 'console')
    const admit = deps.queue.of(automation.organizationId)
    const { organizationId, id: deploymentId } = automation
    const onQueued = reserves
      ? (tx: Queryable, id: string) => reserveRun(tx, { organizationId, deploymentId, id })
      : undefined
    const request = { deploymentId, ...prepared, idempotencyKey, starter, admit, onQueued }
    const id = await kickoff(sql, request).catch((thrown: unknown) => {
      if (reserves && thrown instanceof AppError && thrown.code === 'conflict') return thrown
      throw thrown
    })
    if (typeof id !== 'string') return refuse(id.message, 409)
    c.var.wide['kickoff_id'] = id
    return c.redirect(runPath(automation, { id }), 303)
  })

  return room.routes
}
