import { AppError } from '../../shared/errors.ts'
import { didYouMean } from '../../shared/closest.ts'

const DAY_SECONDS = 86_400

/** How often something happens. */
export interface Rate {
  readonly perDay: number
  /** In the busiest minutes. */
  readonly peakPerSecond: number
}

/** What an installation is to carry, as far as it was said. */
export interface Wish {
  readonly spans?: Rate
  readonly runs?: Rate
  /** For which runs and traces are kept. */
  readonly days?: number
  /** From the start of a run to its end. */
  readonly runSeconds?: number
}

const THOUSANDS = new Map(Object.entries({ '': 1, k: 1e3, M: 1e6, G: 1e9 }))
const PERIODS = new Map(Object.entries({ s: 1, min: 60, h: 3600, day: DAY_SECONDS }))
/** A rate of a day or an hour has its busiest minutes: as if eight hours did the work of a day. */
export const PEAK = 3

/** The most of each: beyond it something was mistyped, or one database is not enough by far. */
const MOST = { spans: 100e9, runs: 100e6, days: 36_400, runSeconds: DAY_SECONDS } as const

type Noun = keyof typeof MOST

const NOUNS = new Map<string, Noun>([
  ['s/run', 'runSeconds'],
  ...(['spans', 'span'] as const).map((word) => [word, 'spans'] as const),
  ...(['runs', 'run'] as const).map((word) => [word, 'runs'] as const),
  ...(['days', 'day', 'weeks', 'week'] as const).map((word) => [word, 'days'] as const),
])

const ALLOWED =
  'Allowed, with commas between: "10M spans/day" and "5 runs/s" (per s, min, h or day; k, M and ' +
  'G are thousands, millions and thousand millions), "90 days" or "13 weeks", "30 s/run".'

const PART = /^([^\sA-Za-z]\S*?|[A-Za-z]+) ?([A-Za-z]?) ([A-Za-z]+)(?: ?\/ ?([A-Za-z]+))?$/
const LENGTH_MAX = 200

/**
 * Reads what an installation is to carry, such as `10M spans/day, 5 runs/s, 90 days`. Raises
 * `invalid_request` for what is not understood, is out of bounds, is said twice or contradicts
 * itself.
 */
export function readWish(text: string): Wish {
  const parts = text.split(',').map((part) => part.trim())
  if (text.length > LENGTH_MAX) throw wrong(`--plan has ${text.length} characters.`)
  if (parts.every((part) => part === '')) throw wrong('--plan names no load.')
  const wish: Record<string, Rate | number> = {}
  for (const part of parts) {
    const [noun, value] = readPart(part)
    if (noun in wish) throw wrong(`"${part}" says ${WORDS[noun]} a second time.`)
    wish[noun] = value
  }
  checkTogether(wish)
  return wish
}

const WORDS: Readonly<Record<Noun, string>> = {
  spans: 'the spans',
  runs: 'the runs',
  days: 'how long data are kept',
  runSeconds: 'how long a run takes',
}

function checkTogether({ spans, runs, runSeconds }: Wish): void {
  if (spans && runs && spans.perDay < runs.perDay) {
    throw wrong(
      `${spans.perDay} spans a day are fewer than ${runs.perDay} runs a day, and each run has at ` +
        'least one span.',
    )
  }
  if (runSeconds !== undefined && !runs) throw wrong('"s/run" needs a rate of runs beside it.')
}

function readPart(part: string): readonly [Noun, Rate | number] {
  const [, digits, letter, word, per] = PART.exec(part) ?? []
  if (digits === undefined || letter === undefined || word === undefined) {
    throw wrong(`"${part}" is not understood.`)
  }
  const noun = nounOf(part, per === 'run' ? `${word}/run` : word)
  const amount = readAmount(part, digits, letter)
  if (noun === 'spans' || noun === 'runs') return [noun, readRate(part, { noun, amount, per })]
  if (noun === 'runSeconds') return [noun, requireBelow(noun, part, amount)]
  if (per !== undefined || !Number.isInteger(amount)) {
    throw wrong(`"${part}" is no whole number of days.`)
  }
  return [noun, requireBelow(noun, part, amount * (word.startsWith('week') ? 7 : 1))]
}

function nounOf(part: string, word: string): Noun {
  const noun = NOUNS.get(word)
  if (noun !== undefined) return noun
  throw wrong(`"${word}" in "${part}" is not known.${didYouMean(word, [...NOUNS.keys()])}`)
}

interface SaidRate {
  readonly noun: Noun
  readonly amount: number
  readonly per: string | undefined
}

function readRate(part: string, { noun, amount, per }: SaidRate): Rate {
  const seconds = PERIODS.get(per ?? '')
  if (seconds === undefined) {
    throw wrong(`"${part}" does not say in what time: per s, min, h or day, such as "5 runs/s".`)
  }
  const perDay = requireBelow(noun, part, (amount * DAY_SECONDS) / seconds)
  // What is said by the second or the minute is what the busiest of them have.
  return { perDay, peakPerSecond: (perDay / DAY_SECONDS) * (seconds <= 60 ? 1 : PEAK) }
}

function requireBelow(noun: Noun, part: string, value: number): number {
  if (value <= MOST[noun]) return value
  throw wrong(`"${part}" is too much: at most ${MOST[noun]} ${UNITS[noun]}.`)
}

const UNITS: Readonly<Record<Noun, string>> = {
  spans: 'spans a day',
  runs: 'runs a day',
  days: 'days',
  runSeconds: 'seconds',
}

function readAmount(part: string, digits: string, letter: string): number {
  const factor = THOUSANDS.get(letter)
  if (factor === undefined) {
    throw wrong(`"${letter}" in "${part}" is not known: k, M or G, in this spelling.`)
  }
  const amount = /^\d{1,15}(\.\d{1,6})?$/.test(digits) ? Number(digits) * factor : 0
  if (amount > 0) return amount
  throw wrong(`"${digits}" in "${part}" is no amount: digits above zero, such as 10 or 2.5.`)
}

const wrong = (problem: string): AppError =>
  new AppError('invalid_request', `${problem} ${ALLOWED}`)
