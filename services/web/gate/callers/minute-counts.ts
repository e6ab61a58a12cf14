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
export interface MinuteCounts {
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
export function createMinuteCounts(now: () => number): MinuteCounts {
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
