import { commandTag, serverError } from './wire-messages.ts'
import type { ServerMessage } from './wire-messages.ts'

/** The statements that were sent and are not over, in their order. */
export interface PendingStatements {
  /**
   * Resolves with the last command tag when the server is ready again; rejects with its error.
   * `onData` gets what the server sends for a COPY.
   */
  add(onData?: (data: Buffer) => void): Promise<string>
  /** Takes a message of the server, which is about the first statement. */
  receive(message: ServerMessage): void
  /** Rejects all: with this error, or with the server's where it gave one. */
  rejectAll(error: Error): void
}

interface Statement {
  readonly onData: ((data: Buffer) => void) | undefined
  readonly resolve: (tag: string) => void
  readonly reject: (error: Error) => void
  tag: string
  error: Error | undefined
}

/** Settles each statement at the server's ReadyForQuery, and not before. */
export function createPendingStatements(): PendingStatements {
  const waiting: Statement[] = []
  return {
    add: (onData) =>
      new Promise<string>((resolve, reject) => {
        waiting.push({ onData, resolve, reject, tag: '', error: undefined })
      }),
    receive({ type, body }) {
      const [statement] = waiting
      if (!statement) return
      if (type === 'd') statement.onData?.(body)
      else if (type === 'E') statement.error ??= serverError(body)
      else if (type === 'C') statement.tag = commandTag(body)
      else if (type === 'Z') settle(waiting.shift() ?? statement)
      // Parameters, notices and "send your data now" call for nothing.
    },
    rejectAll(error) {
      for (const statement of waiting.splice(0)) statement.reject(statement.error ?? error)
    },
  }
}

function settle({ resolve, reject, tag, error }: Statement): void {
  if (error) reject(error)
  else resolve(tag)
}
