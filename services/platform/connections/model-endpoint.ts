import * as v from 'valibot'
import { addressProblem } from '../../shared/outgoing/address.ts'

/** The forms in which models are asked; `auto`: `chat_completions`, or what the answer asks for. */
export const LLM_APIS = ['auto', 'chat_completions', 'responses'] as const
/** A form in which a model is asked. */
export type LlmApi = (typeof LLM_APIS)[number]

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
    api: v.optional(v.picklist(LLM_APIS, `must be one of ${LLM_APIS.join(', ')}`)),
  },
  'must have a base_url, and perhaps an api_key and an api',
)
/** The address of a model, the key for it, and the form in which it is asked. */
export type ModelEndpoint = v.InferOutput<typeof modelEndpoint>
