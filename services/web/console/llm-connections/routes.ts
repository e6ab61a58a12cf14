import type { Hono } from 'hono'
import { createRoom } from '../frame/room.ts'
import type { Context } from 'hono'
import { findLlmConnection, findSealedKey } from '../../../platform/connections/llm-connections.ts'
import type { LlmConnection } from '../../../platform/connections/llm-connections.ts'
import { createLlmKeys } from '../../../platform/connections/llm-keys.ts'
import { AppError } from '../../../shared/errors.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { llmConnections } from '../../nouns/llm-connections.ts'
import { resourcePage } from '../../resources/page-routes.ts'
import { isIdCursor } from '../frame/lists/page-request.ts'
import { surroundingsOf, testConnection } from './test-connection.ts'
import { llmTestSection } from './test-section.ts'

/** Tests an LLM connection, and shows its page with the findings. */
export function testLlmConnectionRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql, config } = deps
  const room = createRoom(deps, {
    'llm-connection-created': 'The connection is created. You can test it here.',
    'llm-connection-key-forgotten':
      'The connection is saved. Its key was removed, because it would have been sent to another ' +
      'address: enter it again.',
  })
  const show = llmConnections.read(resourcePage(deps))
  const keys = createLlmKeys(config.SECRET_KEY_BASE, config.SECRET_KEY_BASE_PREVIOUS)

  room.form('admin', '/llm-connections/:llmConnectionId/test', async (c) => {
    const connection = await getConnection(c, deps)
    const sealed = await findSealedKey(sql, connection)
    const test = await testConnection(connection, surroundingsOf(deps), {
      key: sealed && keys.open(sealed, connection),
      isCall: c.var.form.get('call') === 'yes',
    })
    const { session } = c.var
    return show(c, { beside: () => llmTestSection({ session, connection, ...test, test }) })
  })

  return room.routes
}

async function getConnection(c: Context<SignedIn>, { sql }: WebDeps): Promise<LlmConnection> {
  const id = c.req.param('llmConnectionId') ?? ''
  const { organizationId } = c.var.session.user
  const found = isIdCursor(id) && (await findLlmConnection(sql, { id: Number(id), organizationId }))
  if (found) return found
  throw new AppError('not_found', 'This organization has no such LLM connection.')
}
