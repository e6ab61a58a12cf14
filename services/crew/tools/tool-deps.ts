import type { ReadDocuments } from '../../shared/documents/read-document.ts'
import type { McpEras } from '../../shared/mcp/per-request.ts'
import type { OutgoingGuard } from '../../shared/outgoing/guard.ts'
import type { SentToken } from '../../shared/outgoing/token-header.ts'

const TIMEOUT_SECONDS = 30

/** What the tools of a run need. */
export interface ToolDeps {
  /** Stands before every address of a tool. */
  readonly guard: OutgoingGuard
  /** Reads the documents that tools bring, and those of the inputs. */
  readonly readDocument: ReadDocuments
  /** What is known of MCP servers so far. @default nothing */
  readonly eras?: McpEras
  /**
   * The access tokens of connections; a long run gets new ones. Nothing of it is ever logged,
   * traced or stored.
   */
  readonly connections: Readonly<Record<string, SentToken>>
}

/** The longest that a call of a tool may take. */
export const timeoutMsOf = ({ timeout_seconds = TIMEOUT_SECONDS }: { timeout_seconds?: number }) =>
  timeout_seconds * 1000

/** Returns the access token that a tool's connection has now; undefined for one without. */
export const tokenOf = (
  { connections }: ToolDeps,
  connection: string | undefined,
): SentToken | undefined =>
  connection !== undefined && Object.hasOwn(connections, connection)
    ? connections[connection]
    : undefined
