import { commandTag, dataRow, serverError } from './wire-messages.ts'
import type { Row, ServerMessage } from './wire-messages.ts'

/** What the server answered to a statement, or to several that were sent as one. */
export interface Answer {
  /** The last command tag. */
  readonly tag: string
  /** Those of all of them. */
  readonly rows: readonly Row[]
}

/** The statements that were sent and are not over, in their order. */
interface PendingStatements {
  /**
   * Resolves when the server is ready again; rejects with its error.
   * `onData` gets what the server sends for a COPY.
   */
  add(onData?: (data: Buffer) => void): Promise<Answer>
  /** Takes a message of the server, which is about the first statement. */
  receive(message: ServerMessage): void
  /** Rejects all: with this error, or with the server's where it gave one. */
  rejectAll(error: Error): void
}

interface Statement {
  readonly onData: ((data: Buffer) => void) | undefined
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: Error) => void
  readonly rows: Row[]
  tag: string
  error: Error | undefined
}

/** Settles each statement at the server's ReadyForQuery, and not before. */
export function createPendingStatements(): PendingStatements {
  const waiting: Statement[] = []
  return {
    add: (onData) =>
      new Promise<Answer>((resolve, reject) => {
        waiting.push({ onData, resolve, reject, rows: [], tag: '', error: undefined })
      }),
    receive({ type, body }) {
      const [statement] = waiting
      if (!statement) return
      if (type === 'd') statement.onData?.(body)
      else if (type === 'E') statement.error ??= serverError(body)
      else if (type === 'D') statement.rows.push(dataRow(body))
      else if (type === 'C') statement.tag = commandTag(body)
      else if (type === 'Z') settle(waiting.shift() ?? statement)
      // Parameters, notices and "send your data now" call for nothing.
    },
    rejectAll(error) {
      for (const statement of waiting.splice(0)) statement.reject(statement.error ?? error)
    },
  }
}

function settle({ resolve, reject, tag, rows, error }: Statement): void {
  if (error) reject(error)
  else resolve({ tag, rows })
}
