/** The keys of a query box, with the parameters of an address that they set. */
export interface QueryKeys {
  /** Of `model:gpt-4o`. */
  readonly equal: Readonly<Record<string, string>>
  /** Of `cost>0.1`: what has this much, or more. */
  readonly above: Readonly<Record<string, string>>
  /** What people call the values of a parameter: a run that failed has the status `error`. */
  readonly words?: Readonly<Record<string, Readonly<Record<string, string>>>>
}

const TERM = /([a-z_]+)(:|>=?)("[^"]*"|[^\s"]+)|"[^"]*"|\S+/gi
const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

/**
 * Reads what is typed into a query box, `status:error duration>2s "out of memory"`, into the
 * parameters of an address. What has no key is the text that is looked for; a text that looks like
 * a key is put in quotation marks. Names that end in `*` are beginnings: `model:gpt*`.
 */
export function withTerms(address: URLSearchParams, keys: QueryKeys): URLSearchParams {
  const typed = address.get('text') ?? ''
  const { parameters, text } = termsOf(typed, keys)
  if (parameters.length === 0) return address
  const read = new URLSearchParams(address)
  for (const [parameter, value] of parameters) read.set(parameter, value)
  // The address is read again, by the next page of the list.
  const isKey = termsOf(text, keys).parameters.length > 0
  if (text === '') read.delete('text')
  else read.set('text', isKey ? `"${text}"` : text)
  return read
}

/** Returns the text that is looked for: without quotation marks that keep it from being a key. */
export function plainText(text: string, keys: QueryKeys): string {
  const [, quoted = ''] = /^\s*"([^"]+)"\s*$/.exec(text) ?? []
  return termsOf(quoted, keys).parameters.length > 0 ? quoted : text
}

/** Returns the parameters of what is typed into a query box, and the text beside them. */
export function termsOf(typed: string, { equal, above, words: named = {} }: QueryKeys) {
  const parameters: (readonly [parameter: string, value: string])[] = []
  const words: string[] = []
  for (const [term, name = '', sign = '', value = ''] of typed.matchAll(TERM)) {
    const [key, plain] = [name.toLowerCase(), value.replaceAll('"', '')]
    const parameter = (sign === ':' ? equal : above)[key]
    if (parameter === undefined || plain === '') words.push(term.replaceAll('"', ''))
    else if (sign !== ':') parameters.push([parameter, amountOf(plain)])
    else parameters.push([parameter, named[parameter]?.[plain.toLowerCase()] ?? plain])
  }
  return { parameters, text: words.join(' ') }
}

/** Returns a time in milliseconds, and any other amount as it is. */
function amountOf(text: string): string {
  const [, amount, unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text) ?? []
  return amount === undefined ? text : String(Number(amount) * (UNITS_MS[unit] ?? 1))
}

/** The beginning that a name such as `gpt*` means; undefined for a whole name. */
export const beginningOf = (name: string): string | undefined =>
  name.length > 1 && name.endsWith('*') ? name.slice(0, -1) : undefined

/** The keys of traces, with the parameters of the collector's lists. */
export const TRACE_TERMS = {
  equal: {
    status: 'status',
    model: 'model',
    agent: 'agent',
    task: 'task',
    tool: 'tool',
    service: 'service',
    session: 'session',
    user: 'user',
    error: 'error_type',
    attribute: 'attribute',
  },
  above: { duration: 'min_duration_ms', tokens: 'min_tokens', cost: 'min_cost_usd' },
  words: { status: { failed: 'error' } },
} as const satisfies QueryKeys

/** Reads a day, `2026-11-22`, of an address; undefined for any other text. */
export function readDay(text: string | undefined): string | undefined {
  if (text === undefined || !/^\d{4}-\d{2}-\d{2}$/.test(text)) return undefined
  const day = new Date(`${text}T00:00:00Z`)
  return Number.isNaN(day.getTime()) || day.toISOString().slice(0, 10) !== text ? undefined : text
}
