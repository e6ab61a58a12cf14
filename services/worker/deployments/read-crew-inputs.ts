import * as v from 'valibot'
import { deadline } from '../../shared/deadline.ts'
import { readBounded } from '../../shared/http/read-bounded.ts'

const ANSWER_MS = 5000
const BYTES_MAX = 65_536
const INPUTS_MAX = 100

const inputs = v.object({
  inputs: v.pipe(
    v.array(v.pipe(v.string(), v.nonEmpty(), v.maxLength(100))),
    v.maxLength(INPUTS_MAX),
  ),
})

/** How a crew is asked. */
interface Asking {
  readonly token: string
  readonly signal: AbortSignal
}

/** Asks a crew for the names of its inputs; undefined when it does not say. */
export async function readCrewInputs(
  url: string,
  { token, signal }: Asking,
): Promise<readonly string[] | undefined> {
  try {
    return await deadline({ name: 'crew', timeoutMs: ANSWER_MS, signal }, async (stop) => {
      const response = await fetch(`${url.replace(/\/+$/, '')}/inputs`, {
        redirect: 'manual',
        headers: { authorization: `Bearer ${token}` },
        signal: stop,
      })
      const text = await readBounded(response, BYTES_MAX)
      return response.status === 200 ? v.parse(inputs, JSON.parse(text ?? '')).inputs : undefined
    })
  } catch {
    signal.throwIfAborted()
    return undefined
  }
}
