import { sealsOf } from '../../shared/vault.ts'
import type { LlmConnectionKey } from './llm-connections.ts'

/** Creates what seals the keys of LLM connections, from SECRET_KEY_BASE and the previous one. */
export const createLlmKeys = sealsOf(
  'crew-platform llm connection key',
  ({ organizationId, id }: LlmConnectionKey) => `${organizationId}/${id}`,
)
