import type { Hono } from 'hono'
import { isUuid, listAutomations } from '../../../platform/automations/automations.ts'
import { listProjectPage } from '../../../platform/projects/projects.ts'
import { findRunRecord } from '../../../platform/runs/run-history.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { runPath } from '../frame/addresses.ts'
import { readText } from '../frame/lists/filter-bar.ts'
import { findPage } from './page.ts'
import type { Entry } from './page.ts'
import { createRoom } from '../frame/room.ts'

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
