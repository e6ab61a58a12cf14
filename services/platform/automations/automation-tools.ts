import type { Queryable } from '../../shared/postgres/database.ts'
import { AppError } from '../../shared/errors.ts'
import { inputFields } from '../definitions/crew-inputs.ts'
import { inputsSchema } from '../definitions/input-schema.ts'
import { isOwnCrew } from '../definitions/own-crew-definition.ts'
import type { ToolOf, Tools } from '../tools/tool-definitions.ts'
import { findStartable } from './startable-automations.ts'
import type { StartableAutomation } from './startable-automations.ts'

/** How many runs may wait for each other: a run, the one that it started, and so on. */
export const CALLS_DEEP_MAX = 4
const DESCRIPTION_CHARACTERS_MAX = 4000

/** Describes an automation to those who may call it as a tool. */
export function asTool({ name, definition }: StartableAutomation) {
  const schema = inputsSchema(inputFields(definition))
  return {
    description: describe(name, definition),
    // A crew that is made from a source may take others than it names.
    inputSchema: isOwnCrew(definition) ? { ...schema, additionalProperties: true } : schema,
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

/** Returns a tool with the inputs of its automation, or why an organization cannot use it. */
export async function pinAutomation(
  sql: Queryable,
  organizationId: number,
  tool: ToolOf<'automation'>,
): Promise<ToolOf<'automation'> | string> {
  const reach = { organizationId, deploymentId: null, clientId: null }
  const found = await findStartable(sql, reach, tool.automation)
  if (!found) return `there is no automation ${tool.automation} in this organization`
  const { description, inputSchema } = asTool(found)
  return { ...tool, pinned: { description, input_schema: inputSchema } }
}

interface Called {
  readonly slug: string
  readonly projectId: number
  readonly tools: Tools | null
}

/**
 * Refuses tools by which the automations of a project would wait for themselves, or too many runs
 * for each other. Raises `unprocessable` that names the automations on the way.
 */
export async function refuseCircles(
  sql: Queryable,
  { organizationId, projectId }: { readonly organizationId: number; readonly projectId: number },
  tools: Tools | undefined,
): Promise<void> {
  let level = new Map(calledBy(tools).map(([key, slug]) => [slug, [`tools.${key}`, slug]]))
  for (let deep = 2; level.size > 0; deep += 1) {
    const found = await sql<Called[]>`
      select d.slug, v.project_id, v.definition -> 'tools' as tools
      from deployments d join project_versions v on v.id = d.project_version_id
      where d.organization_id = ${organizationId} and d.slug = any (${[...level.keys()]}::text[])
        and d.tests_project_id is null`
    const circle = found.find((each) => each.projectId === projectId)
    if (circle) throw refusal(level.get(circle.slug), 'it is the automation of this project')
    if (deep > CALLS_DEEP_MAX) {
      const [way] = level.values()
      throw refusal(way, `at most ${CALLS_DEEP_MAX} runs may wait for each other`)
    }
    level = new Map(
      found.flatMap(({ slug, tools: own }) =>
        calledBy(own ?? {}).map(([, next]) => [next, [...(level.get(slug) ?? []), next]] as const),
      ),
    )
  }
}

const calledBy = (tools: Tools = {}): (readonly [key: string, slug: string])[] =>
  Object.entries(tools).flatMap(([key, tool]) =>
    tool.type === 'automation' ? [[key, tool.automation] as const] : [],
  )

function refusal([at = 'tools', ...way]: readonly string[] = [], why: string): AppError {
  const problem = `${at}: ${way.join(' calls ')} cannot be called: ${why}`
  return new AppError('unprocessable', `The tools cannot be used: ${problem}`, {
    details: { problems: [problem] },
  })
}
