import * as v from 'valibot'

/** The address for the calls of one model, instead of the crew's own. */
export const modelEndpoint = v.strictObject(
  {
    base_url: v.pipe(
      v.string('must be a text'),
      v.check((url) => /^https?:\/\//.test(url) && URL.canParse(url), 'must be an http(s) URL'),
    ),
    api_key: v.optional(v.string('must be a text')),
  },
  'must have a base_url, and perhaps an api_key',
)
/** The address of a model, and the key for it. */
export type ModelEndpoint = v.InferOutput<typeof modelEndpoint>
