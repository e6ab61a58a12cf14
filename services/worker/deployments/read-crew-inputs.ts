import * as v from 'valibot'
import type { InputDeclaration } from '../../platform/definitions/input-declarations.ts'
import { deadline } from '../../shared/deadline.ts'
import { readBounded } from '../../shared/http/read-bounded.ts'

const ANSWER_MS = 5000
const BYTES_MAX = 65_536
const INPUTS_MAX = 100

const name = v.pipe(v.string(), v.nonEmpty(), v.maxLength(100))
const answer = v.object({
  inputs: v.pipe(v.array(name), v.maxLength(INPUTS_MAX)),
  optional: v.optional(
    v.pipe(v.array(v.object({ name, default: v.optional(v.unknown()) })), v.maxLength(INPUTS_MAX)),
    [],
  ),
})

/** How a crew is asked. */
interface Asking {
  readonly token: string
  readonly signal: AbortSignal
}

/** Asks a crew for its inputs; undefined when it does not say. */
export async function readCrewInputs(
  url: string,
  { token, signal }: Asking,
): Promise<readonly (string | InputDeclaration)[] | undefined> {
  try {
    return await deadline({ name: 'crew', timeoutMs: ANSWER_MS, signal }, async (stop) => {
      const response = await fetch(`${url.replace(/\/+$/, '')}/inputs`, {
        redirect: 'manual',
        headers: { authorization: `Bearer ${token}` },
        signal: stop,
      })
      const text = await readBounded(response, BYTES_MAX)
      if (response.status !== 200) return undefined
      const { inputs, optional } = v.parse(answer, JSON.parse(text ?? ''))
      return [...inputs, ...optional.map(toDeclaration)]
    })
  } catch {
    signal.throwIfAborted()
    return undefined
  }
}

/** None may be null, so a default of null says only that the input may be left out. */
const toDeclaration = (given: { name: string; default?: unknown }): InputDeclaration => ({
  name: given.name,
  required: false,
  ...(given.default === null ? {} : { default: given.default }),
})
