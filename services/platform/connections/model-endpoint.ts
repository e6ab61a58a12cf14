import * as v from 'valibot'
import { SERVICE_TIER } from '../../shared/models/llm-answer.ts'
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
    /** @default the usual one */
    service_tier: v.optional(v.pipe(v.string('must be a text'), v.regex(SERVICE_TIER))),
  },
  'must have a base_url, and perhaps an api_key, an api and a service_tier',
)
/** The address of a model, the key for it, the form in which it is asked, and the service tier. */
export type ModelEndpoint = v.InferOutput<typeof modelEndpoint>
