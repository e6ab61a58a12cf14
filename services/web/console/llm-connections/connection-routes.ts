import { Hono } from 'hono'
import type { Context } from 'hono'
import {
  deleteLlmConnection,
  findLlmConnection,
  findSealedKey,
  suggestModels,
  updateLlmConnection,
} from '../../../platform/connections/llm-connections.ts'
import type { LlmConnection } from '../../../platform/connections/llm-connections.ts'
import { createLlmKeys } from '../../../platform/connections/llm-keys.ts'
import { AppError } from '../../../shared/errors.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import { requireForm } from '../../gate/callers/forms.ts'
import { requireSession } from '../../gate/callers/session.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { readConnectionForm, toFields } from './form.ts'
import { createSaver, entryOf } from './save-connection.ts'
import { findCredentials, testConnection } from './test-connection.ts'
import type { LlmSurroundings } from './test-connection.ts'
import { isIdCursor } from '../frame/lists/page-request.ts'
import { llmConnectionPage } from './page.ts'
import { noticeOf } from '../frame/notices.ts'

/** Serves the page of a connection, and changes, tests and deletes it. */
export function llmConnectionPageRoutes(
  deps: WebDeps,
  surroundings: LlmSurroundings,
): Hono<SignedIn> {
  const { sql, config } = deps
  const audited = createAudited(sql)
  const routes = new Hono<SignedIn>()
  const session = requireSession(deps)
  const form = requireForm(config.PLATFORM_BASE_URL)
  const save = createSaver(deps)
  const path = '/llm-connections/:id'

  routes.get(path, session, async (c) => {
    const connection = await getConnection(c, deps)
    const credentials = findCredentials(connection, surroundings)
    const notice = noticeOf(c.req.query('notice'))
    return c.html(
      llmConnectionPage({ ...(await frameOf(c, deps)), connection, credentials, notice }),
    )
  })

  routes.post(path, session, form, async (c) => {
    const connection = await getConnection(c, deps)
    const { id, organizationId, hasKey } = connection
    const read = readConnectionForm(c.var.form, surroundings.guard)
    const fields = toFields(organizationId, read.typed)
    const saved = await save(c.var, read, {
      before: connection,
      store: (tx) => updateLlmConnection(tx, id, fields),
    })
    if (saved === undefined) return notFound()
    if (typeof saved === 'string') {
      const credentials = findCredentials(connection, surroundings)
      const page = { ...(await frameOf(c, deps)), connection, credentials }
      return c.html(llmConnectionPage({ ...page, typed: read.typed, problem: saved }), 422)
    }
    const isForgotten = hasKey && !saved.hasKey && !read.key
    const notice = isForgotten ? 'llm-key-forgotten' : 'llm-connection-saved'
    return c.redirect(`/llm-connections/${id}?notice=${notice}`, 303)
  })

  routes.post(`${path}/test`, session, form, async (c) => {
    const connection = await getConnection(c, deps)
    const key = await openKey(connection, deps)
    const isCall = c.var.form.get('call') === 'yes'
    const test = await testConnection(connection, surroundings, { key, isCall })
    const { credentials } = test
    return c.html(llmConnectionPage({ ...(await frameOf(c, deps)), connection, credentials, test }))
  })

  routes.post(`${path}/delete`, session, form, async (c) => {
    const connection = await getConnection(c, deps)
    const entry = entryOf('llm_connection_deleted', connection)
    await audited(c.var, (tx) => deleteLlmConnection(tx, connection), entry)
    return c.redirect('/llm-connections?notice=llm-connection-deleted', 303)
  })

  return routes
}

/** Returns null when there is no key, and undefined when it was sealed with another secret. */
async function openKey(connection: LlmConnection, { sql, config }: WebDeps) {
  const sealed = await findSealedKey(sql, connection)
  const keys = createLlmKeys(config.SECRET_KEY_BASE, config.SECRET_KEY_BASE_PREVIOUS)
  return sealed && keys.open(sealed, connection)
}

/** Returns the session, and the models that the form suggests. */
async function frameOf(c: Context<SignedIn>, { sql }: WebDeps) {
  const { session } = c.var
  return { session, models: await suggestModels(sql, session.user.organizationId) }
}

async function getConnection(c: Context<SignedIn>, { sql }: WebDeps): Promise<LlmConnection> {
  const text = c.req.param('id') ?? ''
  const { organizationId } = c.var.session.user
  if (!isIdCursor(text)) return notFound()
  return (await findLlmConnection(sql, { id: Number(text), organizationId })) ?? notFound()
}

function notFound(): never {
  throw new AppError('not_found', 'Your organization has no such LLM connection.')
}
