import { randomBytes } from 'node:crypto'

/** A small trace that is unlike any other, as an OTLP JSON request. */
interface Canary {
  readonly traceId: string
  readonly request: CanaryRequest
}

interface Attribute {
  readonly key: string
  readonly value: { readonly stringValue?: string; readonly intValue?: string }
}

/** A span that is written to be read back. */
interface CanarySpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly Attribute[]
}

/** A request to the collector, and how long it may take. */
interface CanaryRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] }
    readonly scopeSpans: readonly {
      readonly scope: { readonly name: string }
      readonly spans: readonly CanarySpan[]
    }[]
  }[]
}

const SERVICE = 'collector-verify'

/**
 * A root and its child, with what is easily lost: nanoseconds, a 64-bit number, text beyond ASCII.
 */
export function createCanary(nowMs: number): Canary {
  const traceId = randomBytes(16).toString('hex')
  const start = BigInt(nowMs) * 1_000_000n + 123_456n
  const spanOf = (name: string, offset: bigint): CanarySpan => ({
    traceId,
    spanId: randomBytes(8).toString('hex'),
    name,
    kind: 1,
    startTimeUnixNano: `${start + offset}`,
    endTimeUnixNano: `${start + offset + 1_000_001n}`,
    attributes: [
      { key: 'verify.number', value: { intValue: '9007199254740993' } },
      { key: 'verify.text', value: { stringValue: 'zürich ✓' } },
    ],
  })
  const root = spanOf('collector.verify', 0n)
  const child = { ...spanOf('collector.verify.child', 1n), parentSpanId: root.spanId }
  const resource = { attributes: [{ key: 'service.name', value: { stringValue: SERVICE } }] }
  const scopeSpans = [{ scope: { name: SERVICE }, spans: [root, child] }]
  return { traceId, request: { resourceSpans: [{ resource, scopeSpans }] } }
}

/** The differences between what was sent and what was read; undefined when nothing does. */
export function findDifference(sent: CanaryRequest, read: unknown): string | undefined {
  const [expected, found] = [canonical(sent), canonical(read)]
  if (expected === found) return undefined
  return `sent ${shorten(expected)}, read ${shorten(found)}`
}

const SHOWN_MAX = 2000
const shorten = (text: string): string =>
  text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text

/** JSON whose members are in order, and attributes too: neither order means anything. */
const canonical = (value: unknown): string => JSON.stringify(inOrder(value))

function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder).sort(byText)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(([key, member]) => [key, inOrder(member)] as const)
  return Object.fromEntries(members.sort(byText))
}

const byText = (a: unknown, b: unknown): number => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)
