import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { isObject } from '../../shared/is-object.ts'

/** The time by which the clock of a sender may differ, in seconds. */
export const SKEW_SECONDS_MAX = 300
const PROOFS_MAX = 10

/** Returns the value of a header; an empty text where it is missing. */
type Header = (name: string) => string

/** What a delivery says of its sender. */
interface Proven {
  /** What is signed before the body. */
  readonly prefix?: string
  /** When it was signed, in seconds since 1970; undefined: the scheme does not say. */
  readonly timestamp?: string
  /** The signatures; or the digest of the token. One has to be right. */
  readonly proofs: readonly Buffer[]
}

/** How a third party proves that a delivery is its own. */
interface Scheme {
  readonly label: string
  /** The headers that prove it: what is kept of a delivery is without them. */
  readonly headers: readonly string[]
  /** The header is another one for each sender: this one unless a trigger names one. */
  readonly usual?: string
  /** Its secret is sent as it is, instead of a signature. */
  readonly isToken?: true
  readonly read: (header: Header, named: string) => Proven
  /** Returns the bytes that sign. @default those of the text */
  readonly keyOf?: (secret: string) => Buffer
  /** Returns the id of a delivery, if it has one. */
  readonly idOf: (header: Header, body: unknown) => unknown
  /** Returns the answer to a message that only tries the address. */
  readonly greet?: (header: Header, body: unknown) => object | undefined
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
const hex = (text: string): Buffer => decode(text.toLowerCase(), 'hex')
const base64 = (text: string): Buffer => decode(text, 'base64')

/** Node leaves out what is no part of a code. */
function decode(text: string, code: 'hex' | 'base64'): Buffer {
  const bytes = Buffer.from(text, code)
  return bytes.toString(code) === text ? bytes : Buffer.alloc(0)
}

const fieldOf = (body: unknown, name: string): unknown => (isObject(body) ? body[name] : undefined)

/** Senders with the libraries of Svix name the headers of Standard Webhooks so. */
const standard = (header: Header, part: string): string =>
  header(`webhook-${part}`) || header(`svix-${part}`)

/** The values with a name in a header such as `t=1,v1=a,v1=b`. */
const valuesIn = (header: string, name: string): string[] =>
  header.split(',').flatMap((part) => {
    const [before, ...value] = part.trim().split('=')
    return before === name ? [value.join('=')] : []
  })

/** The names that triggers have for schemes. */
export const SCHEME_NAMES = [
  'standard_webhooks',
  'github',
  'gitlab',
  'stripe',
  'slack',
  'hmac',
  'token',
] as const
/** The name of a scheme. */
export type SchemeName = (typeof SCHEME_NAMES)[number]

/** How third parties sign. */
export const SCHEMES: Readonly<Record<SchemeName, Scheme>> = {
  standard_webhooks: {
    label: 'Standard Webhooks, also of GitLab with a signing token',
    headers: ['webhook-signature', 'svix-signature'],
    read: (header) => {
      const timestamp = standard(header, 'timestamp')
      const signatures = standard(header, 'signature').split(' ')
      return {
        prefix: `${standard(header, 'id')}.${timestamp}.`,
        timestamp,
        proofs: signatures.flatMap((each) =>
          each.startsWith('v1,') ? [base64(each.slice(3))] : [],
        ),
      }
    },
    keyOf: (secret) => Buffer.from(secret.replace(/^whsec_/, ''), 'base64'),
    idOf: (header) => standard(header, 'id'),
  },
  github: {
    label: 'GitHub',
    headers: ['x-hub-signature-256', 'x-hub-signature'],
    read: (header) => ({ proofs: [hex(header('x-hub-signature-256').replace(/^sha256=/, ''))] }),
    idOf: (header) => header('x-github-delivery'),
    greet: (header) => (header('x-github-event') === 'ping' ? { pong: true } : undefined),
  },
  gitlab: {
    label: 'GitLab, secret token',
    headers: ['x-gitlab-token'],
    isToken: true,
    read: (header) => ({ proofs: [digest(header('x-gitlab-token'))] }),
    // An event that another webhook caused has that one's UUID.
    idOf: (header) => header('idempotency-key') || header('x-gitlab-event-uuid'),
  },
  stripe: {
    label: 'Stripe',
    headers: ['stripe-signature'],
    read: (header) => {
      const signature = header('stripe-signature')
      const [timestamp = ''] = valuesIn(signature, 't')
      return { prefix: `${timestamp}.`, timestamp, proofs: valuesIn(signature, 'v1').map(hex) }
    },
    idOf: (_, body) => fieldOf(body, 'id'),
  },
  slack: {
    label: 'Slack',
    headers: ['x-slack-signature'],
    read: (header) => {
      const timestamp = header('x-slack-request-timestamp')
      const proofs = [hex(header('x-slack-signature').replace(/^v0=/, ''))]
      return { prefix: `v0:${timestamp}:`, timestamp, proofs }
    },
    idOf: (_, body) => fieldOf(body, 'event_id') ?? fieldOf(body, 'trigger_id'),
    greet: (_, body) =>
      fieldOf(body, 'type') === 'url_verification'
        ? { challenge: fieldOf(body, 'challenge') }
        : undefined,
  },
  hmac: {
    label: 'Any sender, HMAC-SHA256 in a header',
    headers: [],
    usual: 'x-signature',
    read: (header, named) => {
      const given = header(named).replace(/^sha256=/, '')
      return { proofs: [/^[0-9a-f]{64}$/i.test(given) ? hex(given) : base64(given)] }
    },
    idOf: (header) => header('idempotency-key'),
  },
  token: {
    label: 'Any sender, token in a header',
    headers: [],
    usual: 'authorization',
    isToken: true,
    read: (header, named) => ({ proofs: [digest(header(named).replace(/^bearer\s+/i, ''))] }),
    idOf: (header) => header('idempotency-key'),
  },
}

/** A delivery as it arrived. */
export interface Arrived {
  readonly header: Header
  /** The bytes on the wire. */
  readonly body: Uint8Array
}

/** Which signatures a trigger takes. */
export interface Signing {
  readonly scheme: SchemeName
  /** null: that of the scheme. */
  readonly header: string | null
}

/**
 * Returns by how many seconds the clock of the sender differs if a delivery is signed with one of
 * the secrets; undefined if it is not. The same is computed whatever the delivery has, and
 * compared in a time that says nothing of the secrets.
 */
export function findSkew(
  { scheme: name, header: named }: Signing,
  { header, body }: Arrived,
  { secrets, now }: { readonly secrets: readonly string[]; readonly now: number },
): number | undefined {
  const scheme = SCHEMES[name]
  const { prefix = '', timestamp, proofs } = scheme.read(header, named ?? scheme.usual ?? '')
  const found = secrets.flatMap((secret) => {
    const key = scheme.keyOf?.(secret) ?? Buffer.from(secret)
    const signature = createHmac('sha256', key).update(prefix).update(body).digest()
    const expected = scheme.isToken ? digest(secret) : signature
    return proofs
      .slice(0, PROOFS_MAX)
      .map((proof) => proof.length === expected.length && timingSafeEqual(proof, expected))
  })
  if (!found.includes(true)) return undefined
  if (timestamp === undefined) return 0
  return /^\d{1,12}$/.test(timestamp) ? now / 1000 - Number(timestamp) : undefined
}

/** Returns why a secret cannot be used in a scheme, in words that follow its name. */
export function secretProblem(name: SchemeName, secret: string): string | undefined {
  if (!/^[\x21-\x7e]{16,500}$/.test(secret)) {
    return 'must have 16 to 500 visible ASCII characters, without spaces'
  }
  const isKey = /^(whsec_)?[A-Za-z0-9+/]{22,}={0,2}$/.test(secret)
  return name === 'standard_webhooks' && !isKey ? 'must be whsec_ and a key in Base64' : undefined
}
