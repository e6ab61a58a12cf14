import type { LlmCall } from '../../shared/models/llm-call.ts'
import type { StepUsage } from '../crew-contract/crew-protocol.ts'

/** What a call of a model may answer where nothing limits it, for budgets. */
export const OUTPUT_TOKENS_ASSUMED = 4096
/** What a call may be asked where its crew does not say, for budgets. */
export const INPUT_TOKENS_ASSUMED = 8192

/** Few texts have a token for less: English has one for four bytes, most others for three. */
const BYTES_PER_TOKEN = 3

/** What models count for an image, however many bytes it has, in its largest form. */
const TOKENS_PER_IMAGE = 2000

/** Returns the tokens that a call may use: budgets reserve them before it is made. */
export function estimateCall({ messages, tools, max_tokens }: LlmCall): StepUsage {
  let images = 0
  const text = JSON.stringify([messages, tools], (key, value: unknown) => {
    if (key !== 'image_url') return value
    images += 1
    return undefined
  })
  const bytes = Buffer.byteLength(text)
  return {
    input_tokens: Math.ceil(bytes / BYTES_PER_TOKEN) + images * TOKENS_PER_IMAGE,
    output_tokens: max_tokens ?? OUTPUT_TOKENS_ASSUMED,
  }
}
