import { isAllowed } from '../../shared/outgoing/allowed-places.ts'
import type { Tool, Tools } from '../tools/tool-definitions.ts'

/** A tool that sends the token of a connection. */
export interface ConnectedTool {
  readonly tool: string
  readonly connection: string
  /** The addresses that it sends it to. */
  readonly urls: readonly string[]
}

/** Returns the tools that name a connection. */
export function connectedTools(tools: Tools = {}): ConnectedTool[] {
  return Object.entries(tools).flatMap(([key, tool]) => {
    const connection = 'connection' in tool ? tool.connection : undefined
    return connection === undefined ? [] : [{ tool: key, connection, urls: addressesOf(tool) }]
  })
}

function addressesOf(tool: Tool): readonly string[] {
  if (tool.type === 'mcp') return [tool.url]
  if (tool.type !== 'http' || !tool.pinned) return []
  const { base_url: base, operations } = tool.pinned
  return operations.map(({ path }) => base.replace(/\/$/, '') + path)
}

/**
 * Returns why a token may not go where a tool sends it: somewhere else than to the places of its
 * connection. Without places it may go anywhere.
 */
export function misdirection(
  { tool, connection, urls }: ConnectedTool,
  hosts: readonly string[],
): string | undefined {
  const wrong = urls.find((url) => hosts.length > 0 && !isAllowed(new URL(url), hosts))
  return wrong === undefined
    ? undefined
    : `the tool ${tool} would send the token of the connection ${connection} to ` +
        `${new URL(wrong).host}, and it may go to ${hosts.join(', ')} only. Change the tool, or ` +
        'the places of the connection'
}
