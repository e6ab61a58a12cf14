import { listStartable } from '../../../platform/automations/startable-automations.ts'
import type {
  Reach,
  StartableAutomation,
} from '../../../platform/automations/startable-automations.ts'
import { inputFields } from '../../../platform/definitions/crew-inputs.ts'
import { inputsSchema } from '../../../platform/definitions/input-schema.ts'
import { isOwnCrew } from '../../../platform/definitions/own-crew-definition.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import type { Era } from './era.ts'
import { invalidParams } from './messages.ts'
import type { Outcome } from './messages.ts'

const PAGE_TOOLS = 50
const DESCRIPTION_CHARACTERS_MAX = 4000
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

function toTool({ slug, name, definition }: StartableAutomation) {
  const schema = inputsSchema(inputFields(definition))
  return {
    name: slug,
    title: name,
    description: describe(name, definition),
    // A crew that is made from a source may take others than it names.
    inputSchema: isOwnCrew(definition) ? { ...schema, additionalProperties: true } : schema,
    annotations: { title: name, readOnlyHint: false, openWorldHint: true },
  }
}

/** What its people call it, and what they expect of the last task, whose output the result is. */
function describe(name: string, { name: crew, tasks }: StartableAutomation['definition']): string {
  const expected = tasks.at(-1)?.expected_output
  const text = [
    name,
    ...(crew === name ? [] : [crew]),
    ...(expected ? [`Result: ${expected}`] : []),
  ]
  return text.join('\n').slice(0, DESCRIPTION_CHARACTERS_MAX)
}
