import type { Socket } from 'node:net'
import { connectionLost } from '../failures.ts'
import { toError } from '../../errors.ts'
import type { Answer } from './pending-statements.ts'
import { copyDataHead, copyDone, copyFail, queryMessage } from './wire-messages.ts'

/** A COPY under way, and its data in pieces. */
interface PiecewiseCopy {
  readonly statement: string
  readonly pieces: AsyncIterable<Buffer>
  readonly settled: Promise<Answer>
}

/** Sends the pieces as they come; returns the number of rows. */
export async function copyPieces(
  socket: Socket,
  { statement, pieces, settled }: PiecewiseCopy,
): Promise<number> {
  let isOver = false
  const over = settled.then(
    () => void (isOver = true),
    () => void (isOver = true),
  )
  socket.write(queryMessage(statement))
  try {
    for await (const piece of pieces) {
      // A server that refuses may respond early; it skips what was sent meanwhile.
      if (isOver) break
      socket.write(copyDataHead(piece.length))
      const taken = new Promise<void>((resolve) => socket.write(piece, () => resolve()))
      await Promise.race([taken, over])
    }
  } catch (thrown) {
    socket.write(copyFail('the data cannot be had'))
    await over
    throw thrown
  }
  socket.write(copyDone())
  return copiedRows((await settled).tag)
}

/** Reads no further from the socket while a row is being taken. */
export function heldBack(
  socket: Socket,
  onRow: (row: Buffer) => void | Promise<void>,
  fail: (error: Error) => void,
): (row: Buffer) => void {
  let waiting = 0
  return (row) => {
    const taken = onRow(row)
    if (!taken) return
    waiting += 1
    socket.pause()
    void taken
      .catch((thrown: unknown) => fail(toError(thrown)))
      .finally(() => {
        waiting -= 1
        if (waiting === 0) socket.resume()
      })
  }
}

/** The number of rows in the command tag of a COPY. Raises `unavailable` for another tag. */
export function copiedRows(tag: string): number {
  const rows = /^COPY (\d+)$/.exec(tag)?.[1]
  if (rows === undefined) throw connectionLost('a COPY ended without its command tag')
  return Number(rows)
}
