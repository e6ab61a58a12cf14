import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { signCollectorToken } from '../../../services/shared/collector-token.ts'

export interface Tally {
  readonly sent: number
  /** What was not answered with 200, each with its time. */
  readonly failures: readonly string[]
}

interface Load {
  /** Sends no more, and waits for the answers that are due. */
  stop(): Promise<Tally>
}

/** Sends a request every so often, whether or not the one before was answered. */
export function startLoad(name: string, everyMs: number, send: () => Promise<Response>): Load {
  const failures: string[] = []
  const open = new Set<Promise<void>>()
  let sent = 0
  const timer = setInterval(() => {
    sent += 1
    const one = failureOf(send).then((failure) => {
      open.delete(one)
      if (failure !== undefined) failures.push(`${new Date().toISOString()} ${name}: ${failure}`)
    })
    open.add(one)
  }, everyMs)
  return {
    async stop() {
      clearInterval(timer)
      while (open.size > 0) await Promise.race([Promise.all(open), delay(1000)])
      return { sent, failures }
    },
  }
}

async function failureOf(send: () => Promise<Response>): Promise<string | undefined> {
  try {
    const answer = await send()
    const text = await answer.text()
    return answer.status === 200 ? undefined : `${answer.status} ${text.slice(0, 200)}`
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined
    return `${String(error)} ${cause instanceof Error ? cause.message : ''}`
  }
}

const SPANS_PER_REQUEST = 20

interface SpanLoad extends Load {
  readonly acknowledged: readonly string[]
}

/** Sends spans to the collector and remembers the trace ids of those that it acknowledged. */
export function startSpanLoad(everyMs: number, collector: string, secret: string): SpanLoad {
  const acknowledged: string[] = []
  const load = startLoad('collector', everyMs, async () => {
    const traceIds = Array.from({ length: SPANS_PER_REQUEST }, () =>
      randomBytes(16).toString('hex'),
    )
    const answer = await fetch(`${collector}/v1/traces`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Authorization: `Bearer ${await signCollectorToken(secret, 'walk')}`,
      },
      body: JSON.stringify(traces(traceIds)),
      signal: AbortSignal.timeout(20_000),
    })
    if (answer.status === 200) acknowledged.push(...traceIds)
    return answer
  })
  return { ...load, acknowledged }
}

function traces(traceIds: readonly string[]) {
  const now = BigInt(Date.now()) * 1_000_000n
  const spans = traceIds.map((traceId) => ({
    traceId,
    spanId: randomBytes(8).toString('hex'),
    name: 'walk',
    kind: 1,
    startTimeUnixNano: String(now),
    endTimeUnixNano: String(now + 1_000_000n),
  }))
  const attributes = [{ key: 'service.name', value: { stringValue: 'walk' } }]
  return { resourceSpans: [{ resource: { attributes }, scopeSpans: [{ scope: {}, spans }] }] }
}
