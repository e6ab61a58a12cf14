import { OUTPUT_TOKENS_ASSUMED } from '../platform/assumed-tokens.ts'
import type { StepUsage } from '../platform/crew-protocol.ts'
import type { LlmCall } from './llm.ts'

/** Few texts have a token for less: English has one for four bytes, most others for three. */
const BYTES_PER_TOKEN = 3

/** Returns the tokens that a call may use: budgets reserve them before it is made. */
export function estimateCall({ messages, tools, max_tokens }: LlmCall): StepUsage {
  const bytes = Buffer.byteLength(JSON.stringify([messages, tools]))
  return {
    input_tokens: Math.ceil(bytes / BYTES_PER_TOKEN),
    output_tokens: max_tokens ?? OUTPUT_TOKENS_ASSUMED,
  }
}
