import { listOwnRates, shareCalls } from '../../../platform/automations/api-calls.ts'
import type { OwnRates } from '../../../platform/automations/api-calls.ts'
import { deadline } from '../../../shared/deadline.ts'
import { toError } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import { createMinuteCounts } from './minute-counts.ts'
import type { MinuteCounts } from './minute-counts.ts'

/** What others have counted is known after so long. */
const SHARE_MS = 1000
const RATES_MAX = 100_000
const NONE: OwnRates = { tokenCalls: null, organizationCalls: null }

/** Counts the calls of a minute over all processes of the web service. */
export interface SharedCounts extends Pick<MinuteCounts, 'secondsLeft' | 'used' | 'untold'> {
  readonly add: (subject: string, organizationId: number) => void
  /** Resolves when what was counted is told, or cannot be. */
  readonly share: () => Promise<void>
  /** The rates of an organization where they are its own; undefined until they are known. */
  readonly ratesOf: (organizationId: number) => OwnRates | undefined
}

/** The dependencies of `createSharedCounts`. */
export interface SharedCountsDeps {
  readonly sql: Database
  readonly log: Log
  /** Aborts when the process stops. */
  readonly stopping?: AbortSignal | undefined
  /** In milliseconds since 1970. */
  readonly now: () => number
  /** The time that calls wait for the others' counts at the most. @default 1_000 */
  readonly timeoutMs?: number
}

/**
 * Creates the counts of a process. They are told to the other ones in one statement, about once a
 * second and while there are calls only, beside the calls and not in their way. While the database
 * is unavailable each process counts alone.
 */
export function createSharedCounts(deps: SharedCountsDeps): SharedCounts {
  const { sql, log, stopping, now, timeoutMs = SHARE_MS } = deps
  const { secondsLeft, used, untold, add, send } = createMinuteCounts(now)
  let rates = new Map<number, OwnRates>()
  const callers = new Set<number>()
  let timer: NodeJS.Timeout | undefined
  let pending: Promise<void> | undefined
  let aloneUntil = 0

  async function tell(): Promise<void> {
    const sent = send()
    const asked = [...callers]
    callers.clear()
    try {
      const [totals, own] = await deadline({ name: 'counting calls', timeoutMs }, () =>
        Promise.all([shareCalls(sql, sent), listOwnRates(sql, asked)]),
      )
      sent.settle(totals)
      if (rates.size > RATES_MAX) rates = new Map()
      for (const id of asked) rates.set(id, own.get(id) ?? NONE)
    } catch (thrown) {
      sent.restore()
      aloneUntil = now() + SHARE_MS
      if (stopping?.aborted) return
      log.warn({ reason: toError(thrown).message }, 'calls are counted by this process alone')
    }
  }

  function share(): Promise<void> {
    if (now() < aloneUntil || stopping?.aborted) return Promise.resolve()
    return (pending ??= tell().finally(() => (pending = undefined)))
  }

  return {
    secondsLeft,
    used,
    untold,
    add(subject, organizationId) {
      add(subject)
      callers.add(organizationId)
      timer ??= setTimeout(() => {
        timer = undefined
        void share()
      }, SHARE_MS).unref()
    },
    share,
    ratesOf: (organizationId) => rates.get(organizationId),
  }
}
