import { Hono } from 'hono'
import {
  createLlmConnection,
  listLlmConnections,
  suggestModels,
} from '../../platform/llm-connections.ts'
import { requireForm } from '../auth/forms.ts'
import { requireSession } from '../auth/session.ts'
import type { SignedIn, WebDeps } from '../context.ts'
import { EMPTY, readConnectionForm, toFields } from '../llm/connection-form.ts'
import { audit, createSaver, surroundingsOf } from '../llm/save-connection.ts'
import { findCredentials } from '../llm/test-connection.ts'
import { isNameCursor, readPageRequest } from '../page-request.ts'
import { newLlmConnectionPage } from '../views/llm-connection-page.ts'
import { llmConnectionsPage } from '../views/llm-connections-page.ts'
import { noticeOf } from '../views/notices.ts'
import { llmConnectionPageRoutes } from './llm-connection.ts'

/** The LLM connections of an organization, for any member of it. */
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
    const saved = await save(read, () => createLlmConnection(sql, fields))
    if (typeof saved !== 'object') {
      const models = await suggestModels(sql, c.var.session.user.organizationId)
      const page = { session: c.var.session, typed: read.typed, problem: saved, models }
      return c.html(newLlmConnectionPage(page), 422)
    }
    audit(c, 'llm_connection_created', saved)
    return c.redirect(`${path}/${saved.id}?notice=llm-connection-created`, 303)
  })

  routes.route('/', llmConnectionPageRoutes(deps, surroundings))
  return routes
}
