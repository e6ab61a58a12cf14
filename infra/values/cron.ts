/** The numbers from one to another one, which has two digits at the most. */
function numbers(from: number, to: number): string {
  const tens = Array.from({ length: Math.floor(to / 10) + 1 }, (_, ten) => ten)
  const digits = tens.slice(Math.floor(from / 10)).map((ten) => {
    const [least, most] = [Math.max(from - ten * 10, 0), Math.min(to - ten * 10, 9)]
    return `${ten === 0 ? '' : ten}[${least}-${most}]`
  })
  return `(?:${digits.join('|')})`
}

/** Each number with what may end a range that begins with it. */
const ranges = (from: number, to: number): readonly string[] =>
  Array.from({ length: to - from + 1 }, (_, index) => {
    const first = from + index
    return `${first}-${numbers(first, to)}`
  })

/** Each name with those that may end a range that begins with it. */
const named = (names: readonly string[]): readonly string[] =>
  names.map((name, index) => `${name}(?:-(?:${names.slice(index).join('|')}))?`)

/** A field of cron: terms with commas between, each with a step or without. */
function field([from, to]: readonly [number, number], more: readonly string[]): string {
  const term = `(?:${['\\*', ...more, `0?${numbers(from, to)}`].join('|')})(?:/[1-9][0-9]?)?`
  return `${term}(?:,${term})*`
}

const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC']
const DAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']

const FIELDS = [
  // Nothing that takes minutes is done in each of several ones.
  field([0, 59], []),
  field([0, 23], ranges(0, 23)),
  field([1, 31], ranges(1, 31)),
  field([1, 12], [...ranges(1, 12), ...named(MONTHS)]),
  field([0, 6], [...ranges(0, 6), ...named(DAYS)]),
]

/** The five fields of cron, without what the API server of Kubernetes would refuse. */
export const CRON = new RegExp(`^${FIELDS.join(' ')}$`)
