import type { Agent } from '../../platform/definitions/crew-definition.ts'
import { offeredTools } from '../../platform/definitions/offered-tools.ts'
import type { OfferedTool } from '../../platform/definitions/offered-tools.ts'
import type { RunErrorCode } from '../../platform/runs/run-errors.ts'
import type { Tool, ToolOf, Tools } from '../../platform/tools/tool-definitions.ts'
import { AppError } from '../../shared/errors.ts'
import type { McpSession } from '../../shared/mcp/client.ts'
import { createApproval } from './approve-call.ts'
import { createCalculator } from './calculator.ts'
import { createFetch } from './fetch.ts'
import { createHttpTool } from './http.ts'
import { createJsonQuery } from './json-query.ts'
import { createMcpTool, openServer } from './mcp.ts'
import { createTime } from './time.ts'
import type { CrewTool, ToolArguments } from './tool.ts'
import type { ToolDeps } from './tool-deps.ts'

const CLOSE_MS = 2000

/** The tools of one run. */
export interface Toolbox {
  /** Returns the functions that the model of an agent may call. */
  toolsFor(agent: Pick<Agent, 'tools' | 'knowledge'>): CrewTool[]
  /** Returns the access tokens of its connections, former ones too, which no result may show. */
  readonly secrets: () => readonly string[]
  /** Ends the sessions with MCP servers. Never raises. */
  close(): Promise<void>
}

/**
 * Creates the tools of a run. Raises `unprocessable` for a tool that was not pinned when its
 * version was published, and for one whose connection was not handed to the run. Conditions of
 * approvals look at the inputs.
 */
export function openToolbox(deps: ToolDeps, tools: Tools, inputs: ToolArguments = {}): Toolbox {
  refuseMissing(deps, tools)
  const sessions: McpSession[] = []
  const seen = new Set<string>()
  const functions = Object.entries(tools).flatMap(([key, tool]) => {
    const offered = offeredTools(tools).filter((each) => each.tool === key)
    const session = tool.type === 'mcp' ? openServer(deps, tool) : undefined
    if (session) sessions.push(session)
    return offered.map((each) => ({
      ...(tool.type === 'automation'
        ? createAutomationTool(key, tool)
        : createTool(deps, tool, { ...each, session })),
      approve: tool.approve && createApproval(tool.approve, inputs),
    }))
  })
  return {
    secrets() {
      for (const { access_token: token } of Object.values(deps.connections)) seen.add(token)
      return [...seen]
    },
    toolsFor: (agent) => functions.filter(({ key }) => agent.tools?.includes(key)),
    async close() {
      const signal = AbortSignal.timeout(CLOSE_MS)
      await Promise.all(sessions.map((session) => session.close(signal)))
    },
  }
}

function createTool(
  deps: ToolDeps,
  tool: Exclude<Tool, ToolOf<'automation'>>,
  { name, tool: key, own, session }: OfferedTool & { readonly session: McpSession | undefined },
): CrewTool {
  switch (tool.type) {
    case 'mcp': {
      const pinned = tool.pinned?.tools.find((each) => each.name === own)
      if (!pinned || !session) throw notPinned(key)
      return createMcpTool({ ...deps, session }, tool, { key, name, pinned })
    }
    case 'http': {
      const operation = tool.pinned?.operations.find((each) => each.name === own)
      if (!operation) throw notPinned(key)
      return createHttpTool(deps, tool, { key, name, operation })
    }
    case 'fetch':
      return createFetch(deps, key, tool)
    case 'time':
      return createTime(key)
    case 'calculator':
      return createCalculator(key)
    case 'json_query':
      return createJsonQuery(key)
  }
}

function createAutomationTool(key: string, tool: ToolOf<'automation'>): CrewTool {
  const { automation, type, pinned } = tool
  if (!pinned) throw notPinned(key)
  const { description, input_schema: parameters } = pinned
  const call = () => Promise.reject(new Error('a run answers'))
  const timeoutMs = Infinity
  return { name: key, key, type, automation, description, parameters, timeoutMs, call }
}

function refuseMissing({ connections }: ToolDeps, tools: Tools): void {
  for (const [key, tool] of Object.entries(tools)) {
    const connection = 'connection' in tool ? tool.connection : undefined
    if (connection !== undefined && !Object.hasOwn(connections, connection)) {
      throw unusable(
        'connection_missing',
        `The tool ${key} needs the connection ${connection}, which this run was not given. ` +
          'Connect it, or take it out of the tool and publish a new version.',
      )
    }
  }
}

const notPinned = (key: string): AppError =>
  unusable(
    'tool_not_pinned',
    `The tool ${key} has no schemas: it was not read when the version was published. ` +
      'Publish a new version.',
  )

const unusable = (failure: RunErrorCode, message: string): AppError =>
  new AppError('unprocessable', message, { details: { failure } })
