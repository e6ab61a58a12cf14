import { readRunText, RUN_TEXT, tellFollowed } from '../../platform/runs/run-texts.ts'
import type { RunText } from '../../platform/runs/run-texts.ts'
import { toError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import type { Database } from '../../shared/postgres/database.ts'
import { listen } from '../../shared/postgres/listen.ts'

/** Well within the time after which workers forget who follows a run. */
const TELL_AGAIN_MS = 10_000

type Hear = (text: RunText) => void

/** Brings the texts that models write to those who follow their runs. */
export interface TextWatch {
  /** Calls `hear` with each part that is written from now on; returns the end. */
  follow(runId: string, hear: Hear): () => void
}

interface WatchDeps {
  readonly sql: Database
  readonly log: Log
  /** Aborts when the process stops. */
  readonly stopping?: AbortSignal | undefined
}

/** Creates the watch of a process, which listens to the database from the first follower on. */
export function createTextWatch({ sql, log, stopping }: WatchDeps): TextWatch {
  const followers = new Map<string, Set<Hear>>()
  let timer: NodeJS.Timeout | undefined
  let isListening = false

  function tell(runIds: readonly string[]): void {
    tellFollowed(sql, runIds).catch((thrown: unknown) => {
      log.warn({ reason: toError(thrown).message }, 'workers were not told who follows runs')
    })
  }

  function beginToListen(): void {
    if (isListening || stopping?.aborted) return
    isListening = true
    const stop = listen(sql, {
      channel: RUN_TEXT,
      hear(payload) {
        const text = readRunText(payload)
        for (const hear of (text && followers.get(text.run)) ?? []) if (text) hear(text)
      },
      log,
    })
    stopping?.addEventListener('abort', stop, { once: true })
  }

  return {
    follow(runId, hear) {
      beginToListen()
      const ofRun = followers.get(runId) ?? new Set()
      followers.set(runId, ofRun.add(hear))
      tell([runId])
      timer ??= setInterval(() => tell([...followers.keys()]), TELL_AGAIN_MS).unref()
      return () => {
        ofRun.delete(hear)
        if (ofRun.size === 0 && followers.get(runId) === ofRun) followers.delete(runId)
        if (followers.size > 0) return
        clearInterval(timer)
        timer = undefined
      }
    },
  }
}
