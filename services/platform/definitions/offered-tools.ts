import type { Tool, Tools } from '../tools/tool-definitions.ts'

/** As model providers allow it. */
const NAME_MAX = 64

/** A function that a model may call. */
export interface OfferedTool {
  /** The name that the model sees. */
  readonly name: string
  /** The key of the tool in the version. */
  readonly tool: string
  /** The name of the MCP tool or of the operation; a tool of another type has but one function. */
  readonly own: string | undefined
}

/**
 * Returns the functions of tools by the names that a model sees. That of an MCP tool or of an
 * operation is its own, with the key of its tool before it when another function has it too.
 */
export function offeredTools(tools: Tools): OfferedTool[] {
  const all = Object.entries(tools).flatMap(([key, tool]) =>
    ownNames(tool).map((own) => ({
      tool: key,
      own,
      plain: own === undefined ? key : own.replace(/[^\w-]/g, '_'),
    })),
  )
  return all.map(({ tool, own, plain }) => {
    const isTaken = all.some((other) => other.plain === plain && other.tool !== tool)
    return { tool, own, name: isTaken && own !== undefined ? `${tool}_${plain}` : plain }
  })
}

/** Returns the problems with the names of functions: two that are the same, and long ones. */
export function nameProblems(tools: Tools): string[] {
  const offered = offeredTools(tools)
  const names = [...new Set(offered.map(({ name }) => name))]
  return names.flatMap((name) => {
    const holders = offered
      .filter((each) => each.name === name)
      .map(({ tool, own }) => (own === undefined ? tool : `${tool}.${own}`))
    if (holders.length > 1) {
      return [
        `${holders.join(' and ')} would both be shown to the model as ${name}. ` +
          'Give one of the tools another key, or leave one out.',
      ]
    }
    return name.length <= NAME_MAX
      ? []
      : [
          `${holders.join()} would be shown to the model as ${name}, which is longer than ` +
            `${NAME_MAX} characters. Give the tool a shorter key, or leave it out.`,
        ]
  })
}

function ownNames(tool: Tool): (string | undefined)[] {
  if (tool.type === 'mcp') return tool.tools
  return tool.type === 'http' ? tool.operations : [undefined]
}
