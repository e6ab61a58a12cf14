import type { TextDelta } from '../../platform/crew-contract/crew-protocol.ts'
import { FOLLOWED_MS, publishTexts, RUN_FOLLOWED } from '../../platform/runs/run-texts.ts'
import type { RunText } from '../../platform/runs/run-texts.ts'
import { toError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import { listen } from '../../shared/postgres/listen.ts'
import type { Database } from '../../shared/postgres/database.ts'

/** Runs that web has told of; many more than one worker performs. */
const FOLLOWED_MAX = 10_000
/** Characters that wait for the database; what comes beyond them is left out. */
const WAITING_CHARACTERS_MAX = 262_144

type Tell = (line: { readonly text_deltas: boolean }) => void

/** Passes on what models write, to those who follow their runs. */
export interface TextRelay {
  /** Tells the crew of a run whenever somebody begins or ceases to follow it. */
  attend(runId: string, tell: Tell, ended: AbortSignal): void
  /** Passes a part of a text on; never waits and never raises. */
  pass(runId: string, delta: TextDelta): void
  stop(): void
}

interface Attended {
  readonly tell: Tell
  isTold: boolean
}

/** Opens the relay of a worker. A crew reports no text for which there is nobody. */
export function openTextRelay({ sql, log }: { sql: Database; log: Log }): TextRelay {
  const followedUntil = new Map<string, number>()
  const attended = new Map<string, Attended>()
  const publish = publisher(sql, log)

  function tellCrew(runId: string): void {
    const crew = attended.get(runId)
    const isFollowed = (followedUntil.get(runId) ?? 0) > performance.now()
    if (!crew || crew.isTold === isFollowed) return
    crew.isTold = isFollowed
    crew.tell({ text_deltas: isFollowed })
  }

  function hear(runId: string): void {
    followedUntil.delete(runId)
    followedUntil.set(runId, performance.now() + FOLLOWED_MS)
    const [oldest] = followedUntil.keys()
    if (followedUntil.size > FOLLOWED_MAX && oldest !== undefined) followedUntil.delete(oldest)
    tellCrew(runId)
  }

  function forgetOld(): void {
    for (const [runId, until] of followedUntil) {
      if (until > performance.now()) break
      followedUntil.delete(runId)
      tellCrew(runId)
    }
  }

  const stopListening = listen(sql, { channel: RUN_FOLLOWED, hear, log })
  const timer = setInterval(forgetOld, FOLLOWED_MS / 2).unref()
  return {
    attend(runId, tell, ended) {
      attended.set(runId, { tell, isTold: false })
      ended.addEventListener('abort', () => attended.delete(runId), { once: true })
      tellCrew(runId)
    },
    pass(runId, { step, task, agent, offset, text }) {
      if (followedUntil.has(runId)) publish({ run: runId, step, task, agent, offset, text })
    },
    stop() {
      stopListening()
      clearInterval(timer)
    },
  }
}

/** Sends texts one statement after the other: what comes meanwhile goes with the next one. */
function publisher(sql: Database, log: Log): (text: RunText) => void {
  let waiting: RunText[] = []
  let characters = 0
  let isSending = false
  async function send(): Promise<void> {
    while (waiting.length > 0) {
      const texts = waiting
      waiting = []
      characters = 0
      await publishTexts(sql, texts)
    }
  }
  return (text) => {
    if (characters + text.text.length > WAITING_CHARACTERS_MAX) return
    waiting.push(text)
    characters += text.text.length
    if (isSending) return
    isSending = true
    send()
      .catch((thrown: unknown) => {
        log.warn({ reason: toError(thrown).message }, 'texts of runs were not passed on')
      })
      .finally(() => (isSending = false))
  }
}
