import type { OutgoingGuard } from '../../shared/outgoing/guard.ts'

const TIMEOUT_SECONDS = 30

/** What the tools of a run need. */
export interface ToolDeps {
  /** Stands before every address of a tool. */
  readonly guard: OutgoingGuard
  /** The access tokens of connections. Nothing of it is ever logged, traced or stored. */
  readonly connections: Readonly<Record<string, { readonly access_token: string }>>
}

/** The longest that a call of a tool may take. */
export const timeoutMsOf = ({ timeout_seconds = TIMEOUT_SECONDS }: { timeout_seconds?: number }) =>
  timeout_seconds * 1000

/** Returns the access token of a tool's connection; undefined for a tool without one. */
export const tokenOf = (
  { connections }: ToolDeps,
  connection: string | undefined,
): string | undefined =>
  connection !== undefined && Object.hasOwn(connections, connection)
    ? connections[connection]?.access_token
    : undefined
