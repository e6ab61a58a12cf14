import { Hono } from 'hono'
import {
  createLlmConnection,
  listLlmConnections,
  suggestModels,
} from '../../../platform/connections/llm-connections.ts'
import { requireForm } from '../../gate/callers/forms.ts'
import { requireSession } from '../../gate/callers/session.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { EMPTY, readConnectionForm, toFields } from './form.ts'
import { createSaver, surroundingsOf } from './save-connection.ts'
import { findCredentials } from './test-connection.ts'
import { isNameCursor, readPageRequest } from '../frame/lists/page-request.ts'
import { newLlmConnectionPage } from './page.ts'
import { llmConnectionsPage } from './list-page.ts'
import { noticeOf } from '../frame/notices.ts'
import { llmConnectionPageRoutes } from './connection-routes.ts'

/** Serves the LLM connections of an organization to its members. */
export function llmConnectionRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql, config } = deps
  const routes = new Hono<SignedIn>()
  const session = requireSession(deps)
  const form = requireForm(config.PLATFORM_BASE_URL)
  const surroundings = surroundingsOf(deps)
  const save = createSaver(deps)
  const path = '/llm-connections'

  routes.get(path, session, async (c) => {
    const { session: signedIn } = c.var
    const request = readPageRequest(c, isNameCursor)
    const page = await listLlmConnections(sql, signedIn.user.organizationId, request)
    const rows = page.items.map((each) => ({
      ...each,
      credentials: findCredentials(each, surroundings),
    }))
    const notice = noticeOf(c.req.query('notice'))
    return c.html(llmConnectionsPage({ session: signedIn, page, request, rows, notice }))
  })

  routes.get('/new-llm-connection', session, async (c) => {
    const { session: signedIn } = c.var
    const models = await suggestModels(sql, signedIn.user.organizationId)
    return c.html(newLlmConnectionPage({ session: signedIn, typed: EMPTY, models }))
  })

  routes.post(path, session, form, async (c) => {
    const read = readConnectionForm(c.var.form, surroundings.guard)
    const fields = toFields(c.var.session.user.organizationId, read.typed)
    const saved = await save(c.var, read, { store: (tx) => createLlmConnection(tx, fields) })
    if (typeof saved !== 'object') {
      const models = await suggestModels(sql, c.var.session.user.organizationId)
      const page = { session: c.var.session, typed: read.typed, problem: saved, models }
      return c.html(newLlmConnectionPage(page), 422)
    }
    return c.redirect(`${path}/${saved.id}?notice=llm-connection-created`, 303)
  })

  routes.route('/', llmConnectionPageRoutes(deps, surroundings))
  return routes
}
