import * as v from 'valibot'
import { LLM_APIS } from '../../shared/models/llm-call.ts'
import { addressProblem } from '../../shared/outgoing/address.ts'
import { oneOf } from '../../shared/schemas.ts'

/** The address for the calls of one model, instead of the crew's own. */
export const modelEndpoint = v.strictObject(
  {
    base_url: v.pipe(
      v.string('must be a text'),
      v.check(
        (url) => addressProblem(url) === undefined,
        ({ input }) => addressProblem(input) ?? '',
      ),
    ),
    api_key: v.optional(v.string('must be a text')),
    /** @default auto */
    api: v.optional(oneOf(LLM_APIS)),
  },
  'must have a base_url, and perhaps an api_key and an api',
)
/** The address of a model, the key for it, and the form in which it is asked. */
export type ModelEndpoint = v.InferOutput<typeof modelEndpoint>
