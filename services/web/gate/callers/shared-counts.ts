import { listOwnRates, shareCalls } from '../../../platform/automations/api-calls.ts'
import type { OwnRates } from '../../../platform/automations/api-calls.ts'
import { deadline } from '../../../shared/deadline.ts'
import { toError } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'
import type { Database } from '../../../shared/postgres/database.ts'

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

const MINUTE_MS = 60_000
/** Subjects of a minute beyond these are not counted; each is a token or a client that exists. */
const SUBJECTS_MAX = 100_000

interface Count {
  /** Of all processes, when they were last added up. */
  shared: number
  /** On their way to the others. */
  sent: number
  /** Not sent yet. */
  own: number
}

/** What is told to the other processes at a time. */
interface SentCounts {
  readonly minute: number
  readonly calls: ReadonlyMap<string, number>
  /** Takes the sums of all processes. */
  readonly settle: (totals: ReadonlyMap<string, number>) => void
  /** Takes everything back, to be sent another time. */
  readonly restore: () => void
}

/** The calls of the present minute, by subject. */
interface MinuteCounts {
  /** Begins a new minute when it is one; returns the seconds that are left of it. */
  readonly secondsLeft: () => number
  /** The calls of a subject that are known of. */
  readonly used: (subject: string) => number
  /** Of these, the ones that the other processes may not know of. */
  readonly untold: (subject: string) => number
  readonly add: (subject: string) => void
  readonly send: () => SentCounts
}

/** Counts calls in memory; `now` is in milliseconds since 1970. */
function createMinuteCounts(now: () => number): MinuteCounts {
  let minute = 0
  let counts = new Map<string, Count>()

  function send(): SentCounts {
    const of = counts
    const sent = [...of].filter(([, { own }]) => own > 0)
    for (const [, count] of sent) {
      count.sent = count.own
      count.own = 0
    }
    return {
      minute,
      calls: new Map(sent.map(([subject, count]) => [subject, count.sent])),
      settle(totals) {
        for (const [subject, shared] of totals) {
          const count = of.get(subject)
          if (count) Object.assign(count, { shared, sent: 0 })
        }
      },
      restore() {
        for (const [, count] of sent) {
          count.own += count.sent
          count.sent = 0
        }
      },
    }
  }

  return {
    secondsLeft() {
      const moment = now()
      const present = Math.floor(moment / MINUTE_MS)
      if (present !== minute) {
        minute = present
        counts = new Map()
      }
      return Math.ceil(((present + 1) * MINUTE_MS - moment) / 1000)
    },
    used(subject) {
      const { shared = 0, sent = 0, own = 0 } = counts.get(subject) ?? {}
      return shared + sent + own
    },
    untold(subject) {
      const { sent = 0, own = 0 } = counts.get(subject) ?? {}
      return sent + own
    },
    add(subject) {
      const count = counts.get(subject)
      if (count) count.own += 1
      else if (counts.size < SUBJECTS_MAX) counts.set(subject, { shared: 0, sent: 0, own: 1 })
    },
    send,
  }
}
