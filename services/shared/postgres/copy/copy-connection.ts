import type { Socket } from 'node:net'
import { createAuthentication } from './authentication.ts'
import { copiedRows, copyPieces, heldBack } from './copy-pieces.ts'
import { createPendingStatements } from './pending-statements.ts'
import type { Answer } from './pending-statements.ts'
import {
  copyDataHead,
  copyDone,
  createSplitter,
  queryMessage,
  startupMessage,
  terminateMessage,
} from './wire-messages.ts'
import type { Row, ServerMessage } from './wire-messages.ts'
import type { DatabaseAddress } from '../address.ts'
import { connectionLost } from '../failures.ts'
import { openDatabaseSocket } from '../socket.ts'
import { deadline } from '../../deadline.ts'
import { AppError, toError } from '../../errors.ts'

/**
 * A connection for COPY, with one promise: it reports what the server said. A statement settles at
 * the server's ReadyForQuery and not before; when the connection is lost or the deadline passes
 * first, it rejects and the connection is destroyed. The driver cannot promise that: a COPY that
 * fails at its end leaves it waiting, and its stream then reports success after the next statement.
 */
export interface CopyConnection extends Session {
  /**
   * Runs a statement, or several, with a `copy … from stdin` for each of these streams. Returns the
   * number of rows of the last, committed if no transaction is open. Raises as `query` does.
   */
  copy(statement: string, ...streams: readonly CopyStream[]): Promise<number>
  /**
   * Runs a `copy … from stdin` with data that come in pieces, of any number, without a limit of
   * time. Returns the number of rows. Raises as `query` does, and what `pieces` raises, in which
   * case no row was stored.
   */
  copyIn(statement: string, pieces: AsyncIterable<Buffer>): Promise<number>
  /**
   * Runs statements of which one is a `copy … to stdout`; `onRow` gets each row while the server
   * sends it. When it returns a promise, the server waits for that. Raises as `query` does.
   */
  copyOut(statements: string, onRow: (row: Buffer) => void | Promise<void>): Promise<void>
  close(): void
}

/** The data of a COPY. */
export interface CopyStream {
  /** Bytes of all chunks. */
  readonly size: number
  /** A chunk may be overwritten when the second one after it is asked for. */
  readonly chunks: () => Iterable<Buffer>
}

/** Plain statements on one connection, with the same promise. */
export interface Session {
  /**
   * Runs a statement, or several. Returns the last command tag. Raises `unavailable` with
   * `details.sqlstate`, and `timeout`.
   */
  query(statement: string): Promise<string>
  /** Runs a statement. Returns its rows, all in memory. Raises as `query` does. */
  rows(statement: string): Promise<readonly Row[]>
  /** False once the connection is lost. */
  isOpen(): boolean
}

/** The name and the limits of a connection. */
interface CopyConnectionOptions {
  /** Shown in `pg_stat_activity`. */
  readonly name: string
  /** @default 5_000 */
  readonly connectTimeoutMs?: number
  /**
   * For each statement. The server ends it after this; a second later the connection is given up.
   * @default 30_000
   */
  readonly statementTimeoutMs?: number
}

/** A text as a literal of SQL. */
export const quote = (text: string): string => `'${text.replaceAll("'", "''")}'`

const TIMEOUT_GRACE_MS = 1000

/** Connects and logs in. Raises `unavailable` and `timeout`. */
export async function openCopyConnection(
  address: DatabaseAddress,
  options: CopyConnectionOptions,
): Promise<CopyConnection> {
  const { name, connectTimeoutMs = 5000, statementTimeoutMs = 30_000 } = options
  const sockets: Socket[] = []
  try {
    return await deadline({ name: 'PostgreSQL', timeoutMs: connectTimeoutMs }, async () => {
      const socket = await openDatabaseSocket(address, (opened) => sockets.push(opened))
      const connection = createConnection(socket, { address, name, statementTimeoutMs })
      await connection.ready
      return connection
    })
  } catch (thrown) {
    for (const socket of sockets) socket.destroy()
    throw toConnectError(thrown)
  }
}

function toConnectError(thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown
  const { message } = toError(thrown)
  return new AppError('unavailable', `PostgreSQL cannot be reached: ${message}`, { cause: thrown })
}

interface Login {
  readonly address: DatabaseAddress
  readonly name: string
  readonly statementTimeoutMs: number
}

function createConnection(
  socket: Socket,
  login: Login,
): CopyConnection & { ready: Promise<unknown> } {
  const pending = createPendingStatements()
  let lost: Error | undefined

  function fail(error: Error): void {
    lost ??= error
    socket.destroy()
    pending.rejectAll(error)
  }

  async function send(buffers: Iterable<Buffer>, onData?: (data: Buffer) => void): Promise<Answer> {
    if (lost) throw lost
    const settled = pending.add(onData)
    const written = writeAll(socket, buffers)
    try {
      return await settled
    } finally {
      // A server that refuses may respond early; the next statement must not get into the data.
      await written
    }
  }

  function run(buffers: Iterable<Buffer>, onData?: (data: Buffer) => void): Promise<Answer> {
    const timeoutMs = login.statementTimeoutMs + TIMEOUT_GRACE_MS
    const statement = deadline({ name: 'PostgreSQL', timeoutMs }, () => send(buffers, onData))
    statement.catch((error: unknown) => {
      if (error instanceof AppError && error.code === 'timeout') fail(error)
    })
    return statement
  }

  const { password } = login.address
  receiveMessages(socket, { password, fail, receive: (message) => pending.receive(message) })
  return {
    ready: send([startupMessage(parametersOf(login))]),
    query: async (statement) => (await run([queryMessage(statement)])).tag,
    rows: async (statement) => (await run([queryMessage(statement)])).rows,
    copy: async (statement, ...streams) =>
      copiedRows((await run(copyMessages(statement, streams))).tag),
    copyIn: async (statement, pieces) => {
      if (lost) throw lost
      return copyPieces(socket, { statement, pieces, settled: pending.add() })
    },
    copyOut: async (statements, onRow) =>
      void (await run([queryMessage(statements)], heldBack(socket, onRow, fail))),
    isOpen: () => lost === undefined,
    close() {
      if (lost) return
      lost = connectionLost('it was closed')
      socket.end(terminateMessage(), () => socket.destroy())
    },
  }
}

interface Receiver {
  readonly password: string
  readonly receive: (message: ServerMessage) => void
  readonly fail: (error: Error) => void
}

/** Responds to what the server asks at the login; everything else goes to `receive`. */
function receiveMessages(socket: Socket, { password, receive, fail }: Receiver): void {
  const authenticate = createAuthentication(password, {
    send: (bytes) => socket.write(bytes),
    fail,
  })
  const split = createSplitter((message) => {
    if (message.type === 'R') authenticate(message.body)
    else receive(message)
  })
  socket.on('data', split)
  socket.on('error', (error) => fail(connectionLost(error.message)))
  socket.on('close', () => fail(connectionLost('the server closed the connection')))
}

const parametersOf = ({ address, name, statementTimeoutMs }: Login) => ({
  user: address.user,
  database: address.database,
  client_encoding: 'UTF8',
  application_name: name,
  statement_timeout: String(statementTimeoutMs),
  client_min_messages: 'error',
  // `quote` relies on it.
  standard_conforming_strings: 'on',
})

/** Up to this size a copy costs less than more system calls, and a server that wakes twice. */
const SMALL_BYTES = 256 * 1024

/** The data follow the statement at once: a server that refuses it skips them, by the protocol. */
function copyMessages(statement: string, streams: readonly CopyStream[]): Iterable<Buffer> {
  const query = queryMessage(statement)
  const messages = messagesOf(query, streams)
  const ends = streams.length * (copyDataHead(0).length + copyDone().length)
  const size = streams.reduce((sum, one) => sum + one.size, query.length + ends)
  return size > SMALL_BYTES ? messages : [joined(messages, size)]
}

function* messagesOf(query: Buffer, streams: readonly CopyStream[]): Generator<Buffer> {
  let before = query
  for (const { size, chunks } of streams) {
    yield Buffer.concat([before, copyDataHead(size)])
    yield* chunks()
    before = copyDone()
  }
  yield before
}

/** All in one: each is copied before the next one is asked for, because it may change then. */
function joined(messages: Iterable<Buffer>, size: number): Buffer {
  const whole = Buffer.allocUnsafe(size)
  let end = 0
  for (const message of messages) end += message.copy(whole, end)
  return whole
}

/**
 * Writes buffers, no more than two ahead of what the system has taken. Ends early when the socket
 * is lost.
 */
async function writeAll(socket: Socket, buffers: Iterable<Buffer>): Promise<void> {
  let before: Promise<void> | undefined
  // The small pieces around the data travel with them.
  socket.cork()
  process.nextTick(() => socket.uncork())
  for (const buffer of buffers) {
    if (socket.destroyed) return
    const taken = new Promise<void>((resolve) => socket.write(buffer, () => resolve()))
    await before
    before = taken
  }
  await before
}
