import { isObject } from '../../shared/is-object.ts'
import { isSecretName, redactShapes } from '../../shared/redact.ts'

const REDACTED = '[redacted]'
/** A shorter value is a word that stands everywhere. */
const SECRET_LENGTH_MIN = 6
const LINE_LENGTH_MAX = 4000
const DEPTH_MAX = 40
/** Where kubectl keeps a copy of what was applied, Secrets included. */
const COPIES = new Set(['managedFields', 'kubectl.kubernetes.io/last-applied-configuration'])

/** Takes secrets out of what goes into a bundle. */
export interface BundleRedaction {
  /** Notes secrets that were read; they are found wherever they stand, also as base64. */
  learn(values: readonly string[]): void
  text(text: string): string
  /** Redacts the texts of an object of the API server, and the values of secret names. */
  object(value: unknown): unknown
}

const PEM = /-----BEGIN [A-Z0-9 ]+-----[^]*?(?:-----END [A-Z0-9 ]+-----|$)/g
/** A key whose first line was cut off. */
const BARE_BASE64 = /^[A-Za-z0-9+/]{60,}={0,2}$/
const E_MAIL = /[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}/g
const CLOUD_KEYS = /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[\w-]{30,}|\bya29\.[\w-]{20,}/g
/** JSON within a text of JSON, as logs have it. */
const NESTED_JSON = /((?:password|passwd|secret|token|api[-_]?key)\\*"\s*:\s*\\*")[^"\\]+/gi
const ESCAPED_SPACE = /(\\+[nrt])/
const LONG_OPTION = /^--?[\w-]*(?:token|secret|password|passwd|key)$/i
const LONG_OPTION_IN_TEXT = /(--?[\w-]*(?:token|secret|password|passwd)[= ]+)[^\s"']+/gi

/** Creates a redaction that knows no secrets yet, only what they look like. */
export function createBundleRedaction(): BundleRedaction {
  const known = new Set<string>()
  let sorted: readonly string[] = []

  function learn(values: readonly string[]): void {
    for (const form of values.flatMap(formsOf)) known.add(form)
    // The longest first: one may be a part of another one.
    sorted = [...known].toSorted((a, b) => b.length - a.length)
  }

  function text(given: string): string {
    const plain = given.replaceAll(PEM, REDACTED)
    const without = sorted.reduce((shown, each) => shown.replaceAll(each, REDACTED), plain)
    return without.split('\n').map(redactLine).join('\n')
  }

  function visit(value: unknown, depth: number): unknown {
    if (typeof value === 'string') return text(value)
    if (depth > DEPTH_MAX) return '[…]'
    if (Array.isArray(value)) {
      return value.map((each, index) =>
        LONG_OPTION.test(String(value[index - 1])) ? REDACTED : visit(each, depth + 1),
      )
    }
    if (!isObject(value)) return value
    const entries = Object.entries(value).filter(([key]) => !COPIES.has(key))
    const { name } = value
    const isVariable = typeof name === 'string' && 'value' in value
    return Object.fromEntries(
      entries.map(([key, each]) => {
        const isSecret =
          typeof each === 'string' && (isSecretKey(key) || (isVariable && isSecretName(name)))
        const hides = isSecret && (!isVariable || key === 'value')
        return [key, hides ? REDACTED : visit(each, depth + 1)]
      }),
    )
  }

  return { learn, text, object: (value) => visit(value, 0) }
}

/** The names of references to secrets are no secrets: `secretName`, `secretKeyRef`, `key`. */
const isSecretKey = (key: string): boolean =>
  isSecretName(key) && !/name$|ref$|^key$|^tokenExpirationSeconds$|mount/i.test(key)

/** A secret as it may be written: itself, in base64, in a URL, in JSON. */
function formsOf(value: string): string[] {
  const trimmed = value.trim()
  if (trimmed.length < SECRET_LENGTH_MIN || /^(true|false|\d+)$/.test(trimmed)) return []
  const base64 = Buffer.from(trimmed).toString('base64')
  const forms = [trimmed, base64, base64.replace(/=+$/, ''), encodeURIComponent(trimmed)]
  return [...forms, JSON.stringify(trimmed).slice(1, -1), ...partsOf(trimmed)]
}

/** The secrets within a secret: passwords in URLs, and those of a file of logins. */
function partsOf(value: string): string[] {
  const [, password = ''] = /:\/\/[^/\s:@]*:([^/\s@]+)@/.exec(value) ?? []
  const inJson = [...value.matchAll(/"(?:password|auth|token|secret)"\s*:\s*"([^"]+)"/gi)]
  return [password, decode(password), ...inJson.map(([, each = '']) => each)].filter(
    (part) => part.length >= SECRET_LENGTH_MIN,
  )
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function redactLine(line: string): string {
  if (BARE_BASE64.test(line.trim())) return REDACTED
  const isCut = line.length > LINE_LENGTH_MAX
  // A word that is cut may be a part of a secret, which no longer looks like one.
  const seen = isCut ? line.slice(0, LINE_LENGTH_MAX).replace(/\S+$/, '') : line
  // In JSON a line ends with a letter, which would hide where a word begins.
  const clean = seen.split(ESCAPED_SPACE).map(redactWords).join('')
  return isCut ? `${clean}…` : clean
}

const redactWords = (text: string): string =>
  redactShapes(text)
    .replaceAll(NESTED_JSON, `$1${REDACTED}`)
    .replaceAll(LONG_OPTION_IN_TEXT, `$1${REDACTED}`)
    .replaceAll(CLOUD_KEYS, REDACTED)
    .replaceAll(E_MAIL, '[e-mail]')
