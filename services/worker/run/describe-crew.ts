import * as v from 'valibot'
import { crewDescription } from '../../platform/crew-contract/crew-description.ts'
import { deadline } from '../../shared/deadline.ts'
import { readBounded } from '../../shared/http/read-bounded.ts'

const ANSWER_MS = 5000
const BYTES_MAX = 65_536
/** The time for which what a crew can do is known. */
const KNOWN_MS = 1000
const CREWS_MAX = 1000

/** The statuses of a proxy, or of a crew that starts or stops: trying again may help. */
export const UNAVAILABLE: ReadonlySet<number> = new Set([429, 502, 503, 504])

/** Where a crew is asked. */
interface Asked {
  readonly url: string
  readonly signal?: AbortSignal
}

/**
 * Asks a crew what it can do; one that does not say is of the first version of the contract, which
 * has no capabilities. Raises an error when the crew cannot be reached.
 */
export async function listCapabilities({ url, signal }: Asked): Promise<readonly string[]> {
  return deadline({ name: 'crew', timeoutMs: ANSWER_MS, signal }, async (stop) => {
    const response = await fetch(`${url.replace(/\/+$/, '')}/describe`, {
      redirect: 'manual',
      signal: stop,
    })
    const { status } = response
    const text = status === 200 ? await readBounded(response, BYTES_MAX) : await drop(response)
    // Nothing is known of it yet: taken for an old one, it would begin a run anew.
    if (UNAVAILABLE.has(status)) throw new Error(`it answers HTTP ${status}`)
    return parse(text)
  })
}

/** Asks crews what they can do. */
export type Describe = typeof listCapabilities

/** A crew that was asked, what it said, and for how long that is known. */
interface Known {
  readonly asked: Promise<readonly string[]>
  said?: readonly string[]
  until: number
}

/**
 * Creates the one that asks each crew once a second at the most: runs that begin together share an
 * answer, and one that ends does not take it from the others.
 */
export function createDescribe(now = () => performance.now()): Describe {
  const known = new Map<string, Known>()

  function ask(url: string): Known {
    const asking: Known = { asked: listCapabilities({ url }), until: now() + KNOWN_MS }
    const forget = (): void => {
      if (known.get(url) === asking) known.delete(url)
    }
    asking.asked.then((said) => {
      asking.said = said
      asking.until = now() + KNOWN_MS
      // One that says nothing may only have started.
      if (said.length === 0) forget()
    }, forget)
    if (known.size >= CREWS_MAX) known.clear()
    known.set(url, asking)
    return asking
  }

  return async ({ url, signal }) => {
    const found = known.get(url)
    const { said, asked } = found && now() < found.until ? found : ask(url)
    return said ?? deadline({ name: 'crew', timeoutMs: ANSWER_MS, signal }, () => asked)
  }
}

/** Nothing is known of a crew whose answer is too long. */
function parse(text = ''): readonly string[] {
  try {
    const { contract, capabilities } = v.parse(crewDescription, JSON.parse(text))
    return contract >= 2 ? capabilities : []
  } catch {
    return []
  }
}

async function drop({ body }: Response): Promise<string> {
  await body?.cancel()
  return ''
}
