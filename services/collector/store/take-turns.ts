import type { Bell, Bells } from '../../shared/bell.ts'
import { toError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import { pause } from '../../shared/pause.ts'

/** A connection, or several, that turns are taken on. */
interface Turning {
  isOpen(): boolean
  close(): void | Promise<void>
}

/** The outcome of a turn. */
export interface Rest {
  /** For so many milliseconds at least. */
  readonly restMs: number
  /** There was nothing to do: the next turn is when something comes, or much later. */
  readonly isIdle: boolean
}

/** Work that one collector at a time does in the background. */
interface Turns<Session extends Turning> {
  readonly open: () => Session | Promise<Session>
  readonly take: (session: Session) => Promise<Rest>
  readonly afterFailureMs: number
  /** What is told, with the reason, once for failures that follow each other. */
  readonly failure: string
  /** They ring when this process has committed something. */
  readonly bells: Bells
  readonly log: Log
  readonly signal: AbortSignal
}

const FIRST_DOZE_MS = 250
/** What another process has left undone is found within this time. */
const LONGEST_DOZE_MS = 10_000

/** Returns a wait that takes twice as long each time, until the bell ends it or it is not idle. */
export function createDoze(bell: Bell, signal: AbortSignal): (isIdle: boolean) => Promise<void> {
  let ms = FIRST_DOZE_MS
  return async (isIdle) => {
    const started = performance.now()
    if (isIdle) await bell.wait(ms, signal)
    const isWoken = !isIdle || performance.now() - started < ms - 1
    ms = isWoken ? FIRST_DOZE_MS : Math.min(ms * 2, LONGEST_DOZE_MS)
  }
}

/** Takes turns until the signal, on a connection that is opened anew when it was lost. */
export async function takeTurns<Session extends Turning>(turns: Turns<Session>): Promise<void> {
  const { open, take, afterFailureMs, failure, bells, log, signal } = turns
  const doze = createDoze(bells.add(), signal)
  let session: Session | undefined
  let { restMs, isIdle }: Rest = { restMs: 0, isIdle: false }
  let hasFailed = false
  while (await pause(signal, restMs)) {
    try {
      await doze(isIdle)
      if (signal.aborted) break
      if (session?.isOpen() !== true) session = await open()
      ;({ restMs, isIdle } = await take(session))
      hasFailed = false
    } catch (thrown) {
      const reason = toError(thrown).message
      // Once, not with each try while the database is unavailable.
      if (!hasFailed) log.error({ reason }, `${failure}; trying again`)
      hasFailed = true
      restMs = afterFailureMs
      isIdle = false
    }
  }
  await session?.close()
}
