/** Each with what a time ahead may lack of it: half of the next smaller one. */
const UNITS = [
  { unit: 'year', seconds: 31_536_000, lacking: 1_296_000 },
  { unit: 'month', seconds: 2_592_000, lacking: 43_200 },
  { unit: 'day', seconds: 86_400, lacking: 1800 },
  { unit: 'hour', seconds: 3600, lacking: 30 },
  { unit: 'minute', seconds: 60, lacking: 0.5 },
] as const
/** A time by the clock of another machine may be ahead by so much and yet have been. */
const SKEW_SECONDS = 1

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
const grouped = new Intl.NumberFormat('en')

/** Returns the last 8 characters of the id of a run or a trace: those of one day begin alike. */
export const shortId = (id: string): string => id.slice(-8)

/** Returns a time from now: `3 minutes ago`, `yesterday`, `in 26 s`, `in 2 hours`. */
export function relativeTime(date: Date, now: Date = new Date()): string {
  const seconds = (date.getTime() - now.getTime()) / 1000
  if (seconds > SKEW_SECONDS) return timeAhead(seconds)
  const found = UNITS.find((each) => -seconds >= each.seconds)
  return found ? relative.format(Math.trunc(seconds / found.seconds), found.unit) : 'just now'
}

/** Rounded: what ends in a week less a second ends in 7 days. */
function timeAhead(seconds: number): string {
  const found = UNITS.find((each) => seconds >= each.seconds - each.lacking)
  return found
    ? relative.format(Math.round(seconds / found.seconds), found.unit)
    : `in ${Math.round(seconds)} s`
}

/** Returns a time to the second: `2026-11-21 09:30:05 UTC`. */
export function absoluteTime(date: Date): string {
  return `${date.toISOString().slice(0, 19).replace('T', ' ')} UTC`
}

/** Returns milliseconds in the unit that fits: `840 ms`, `12.4 s`, `3 min 5 s`, `2 h 10 min`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < 60_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`
  const minutes = Math.floor(ms / 60_000)
  if (minutes < 60) return `${minutes} min ${Math.floor((ms % 60_000) / 1000)} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** Returns a number with its thousands apart: `12,345`. */
export const count = (number: number): string => grouped.format(number)

const SIZES = [
  ['GiB', 1024 ** 3],
  ['MiB', 1024 ** 2],
  ['KiB', 1024],
] as const

/** Returns a size in the unit that fits: `840 bytes`, `1.2 KiB`, `3.4 MiB`, `10 GiB`. */
export function byteSize(size: number): string {
  const [unit, each] = SIZES.find(([, bytes]) => size >= bytes) ?? []
  return each ? `${Number((size / each).toFixed(1))} ${unit}` : plural(size, 'byte')
}

/** Returns a noun in the plural: `runs`, `batches`. */
export const manyOf = (noun: string): string => `${noun}${noun.endsWith('ch') ? 'es' : 's'}`

/** Returns a number of things: `1 run`, `2 runs`. */
export const plural = (number: number, noun: string): string =>
  `${count(number)} ${number === 1 ? noun : manyOf(noun)}`

/** Returns `task_started` as `Task started`, `llm_call` as `LLM call`. */
export function sentence(identifier: string): string {
  const spaced = identifier.replace(/[_-]+/g, ' ').trim()
  const words = spaced.replace(/\b(llm|id|url|api)\b/gi, (word) => word.toUpperCase())
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** Returns a JSON value for people: a text as it is, anything else as indented JSON. */
export const pretty = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '')

/** Returns the time of day: `09:30:05 UTC`. */
export const clockTime = (date: Date): string => `${date.toISOString().slice(11, 19)} UTC`
