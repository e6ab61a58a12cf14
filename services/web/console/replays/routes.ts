import type { Context, Hono } from 'hono'
import { findReplayedRun } from '../../../platform/replays/replay-results.ts'
import { findReplay } from '../../../platform/replays/replays.ts'
import { isUuid } from '../../../platform/automations/automations.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { getOwnAutomation } from '../frame/own-automation.ts'
import { createRoom } from '../frame/room.ts'
import { outcomePage } from './outcome-page.ts'
import { replaySection } from './replay-section.ts'

const PATH = '/automations/:automationId/replays/:replayId'

/** Serves what stands beside the pages of replays: their progress, and one run of each. */
export function replayPageRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql } = deps
  const { routes, page } = createRoom(deps)

  page('viewer', `${PATH}/live`, async (c) => {
    const { automation: owner, replay: row } = await getOwnReplay(c, sql)
    const etag = `W/"${row.waiting}"`
    if (c.req.header('if-none-match') === etag) return c.body(null, 304, { etag })
    const path = `/automations/${owner.automationId}/replays/${row.id}`
    return c.html(await replaySection({ deps, owner, row, path }), 200, { etag })
  })

  page('viewer', `${PATH}/runs/:kickoffId`, async (c) => {
    const { automation, replay } = await getOwnReplay(c, sql)
    const outcome = await getReplayedRun(deps, replay.id, c.req.param('kickoffId') ?? '')
    return c.html(outcomePage({ session: c.var.session, automation, replay, outcome }))
  })

  return routes
}

async function getOwnReplay(c: Context<SignedIn>, sql: Database) {
  const automation = await getOwnAutomation(c, sql)
  const id = c.req.param('replayId') ?? ''
  const replay = isUuid(id) ? await findReplay(sql, { id, deploymentId: automation.id }) : undefined
  if (replay) return { automation, replay }
  throw new AppError('not_found', 'This automation has no such replay.')
}

/** Returns a run of a replay. Raises `not_found`. */
export async function getReplayedRun({ sql, prices }: WebDeps, replayId: string, runId: string) {
  const found = isUuid(runId) ? await findReplayedRun(sql, { replayId, runId }, prices) : undefined
  if (found) return found
  throw new AppError('not_found', 'This replay has no such run, or no longer.')
}
