import type { Context, Hono } from 'hono'
import { findArtifact } from '../../../platform/runs/run-artifacts.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { sendFile } from '../../http/send-file.ts'
import { getOwnRun } from '../frame/own-automation.ts'
import { artifactPage } from './artifact-page.ts'
import { createRoom } from '../frame/room.ts'

/** Shows and sends the files that the tasks of a run wrote. */
export function artifactRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql } = deps
  const room = createRoom(deps)
  const path = '/automations/:automationId/executions/:kickoffId/artifacts/:name'

  room.page('viewer', path, async (c) => {
    const found = await getOwnArtifact(c, sql)
    const textView = c.req.query('view') === 'raw' ? 'raw' : 'rendered'
    return c.html(artifactPage({ session: c.var.session, ...found, textView }))
  })

  room.page('viewer', `${path}/content`, async (c) =>
    sendFile(c, (await getOwnArtifact(c, sql)).artifact),
  )

  return room.routes
}

async function getOwnArtifact(c: Context<SignedIn>, sql: Database) {
  const { automation, run } = await getOwnRun(c, sql)
  const artifact = await findArtifact(sql, run.id, c.req.param('name') ?? '')
  if (artifact) return { automation, run, artifact }
  throw new AppError('not_found', 'This run wrote no such file.')
}
