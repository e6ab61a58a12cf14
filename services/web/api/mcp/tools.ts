import { asTool } from '../../../platform/automations/automation-tools.ts'
import { listStartable } from '../../../platform/automations/startable-automations.ts'
import type {
  Reach,
  StartableAutomation,
} from '../../../platform/automations/startable-automations.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import type { Era } from './era.ts'
import { invalidParams } from './messages.ts'
import type { Outcome } from './messages.ts'

const PAGE_TOOLS = 50
/** The slug of an automation, which its name as a tool is. */
const CURSOR = /^[a-z0-9-]{1,52}$/

/** Lists the automations that a caller may start, page by page. */
export async function listTools(
  sql: Database,
  reach: Reach,
  { cursor, era }: { readonly cursor: unknown; readonly era: Era },
): Promise<Outcome> {
  if (cursor !== undefined && (typeof cursor !== 'string' || !CURSOR.test(cursor))) {
    return invalidParams('The cursor is none of this list. Begin without one.')
  }
  const found = await listStartable(sql, reach, { after: cursor ?? '', limit: PAGE_TOOLS + 1 })
  const page = found.slice(0, PAGE_TOOLS)
  const next = found.length > PAGE_TOOLS ? { nextCursor: page.at(-1)?.slug } : {}
  const inEra = era === 'session' ? OF_SESSIONS : {}
  const tools = page.map((each) => ({ ...toTool(each), ...inEra }))
  return { result: { tools, ...next } }
}

/** A call may be a task, and need not be (2025-11-25). */
const OF_SESSIONS = { execution: { taskSupport: 'optional' } }

function toTool(automation: StartableAutomation) {
  const { slug, name } = automation
  return {
    name: slug,
    title: name,
    ...asTool(automation),
    annotations: { title: name, readOnlyHint: false, openWorldHint: true },
  }
}
