import { createVault } from '../shared/vault.ts'
import type { LlmConnectionKey } from './llm-connections.ts'

/** Seals the keys of LLM connections, and opens them for the crews that use them. */
export interface LlmKeys {
  seal(key: string, connection: LlmConnectionKey): Buffer
  /** Undefined when it was sealed with another SECRET_KEY_BASE, or belongs to another connection. */
  open(sealed: Buffer, connection: LlmConnectionKey): string | undefined
}

export function createLlmKeys(secretKeyBase: string): LlmKeys {
  const vault = createVault({ label: 'crew-platform llm connection key', current: secretKeyBase })
  return {
    seal: (key, connection) => vault.seal(key, placeOf(connection)),
    open: (sealed, connection) => vault.open(sealed, placeOf(connection))?.secret,
  }
}

const placeOf = ({ organizationId, id }: LlmConnectionKey): string => `${organizationId}/${id}`
