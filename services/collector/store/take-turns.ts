import { toError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import { pause } from '../../shared/pause.ts'

/** A connection, or several, that turns are taken on. */
interface Turning {
  isOpen(): boolean
  close(): void | Promise<void>
}

/** Work that one collector at a time does in the background. */
interface Turns<Session extends Turning> {
  readonly open: () => Session | Promise<Session>
  /** Returns the milliseconds to rest. */
  readonly take: (session: Session) => Promise<number>
  readonly afterFailureMs: number
  /** What is told, with the reason, once for failures that follow each other. */
  readonly failure: string
  readonly log: Log
  readonly signal: AbortSignal
}

/** Takes turns until the signal, on a connection that is opened anew when it was lost. */
export async function takeTurns<Session extends Turning>(turns: Turns<Session>): Promise<void> {
  const { open, take, afterFailureMs, failure, log, signal } = turns
  let session: Session | undefined
  let restMs = 0
  let hasFailed = false
  while (await pause(signal, restMs)) {
    try {
      if (session?.isOpen() !== true) session = await open()
      restMs = await take(session)
      hasFailed = false
    } catch (thrown) {
      const reason = toError(thrown).message
      // Once, not with each try while the database is unavailable.
      if (!hasFailed) log.error({ reason }, `${failure}; trying again`)
      hasFailed = true
      restMs = afterFailureMs
    }
  }
  await session?.close()
}
