import { createVault } from '../../shared/vault.ts'
import type { LlmConnectionKey } from './llm-connections.ts'

/** Seals the keys of LLM connections, and opens them for the crews that use them. */
interface LlmKeys {
  seal(key: string, connection: LlmConnectionKey): Buffer
  /**
   * Returns undefined when it was sealed with another SECRET_KEY_BASE, or belongs to another
   * connection.
   */
  open(sealed: Buffer, connection: LlmConnectionKey): string | undefined
  /**
   * Returns the key sealed anew when it was sealed with the previous SECRET_KEY_BASE; else
   * undefined.
   */
  reseal(sealed: Buffer, connection: LlmConnectionKey): Buffer | undefined
}

/** Seals with SECRET_KEY_BASE; while it is rotated, the previous one still opens what it sealed. */
export function createLlmKeys(secretKeyBase: string, previous?: string): LlmKeys {
  const label = 'crew-platform llm connection key'
  const vault = createVault({ label, current: secretKeyBase, previous })
  return {
    reseal(sealed, connection) {
      const opened = vault.open(sealed, vaultPlace(connection))
      if (!opened || opened.isCurrent) return undefined
      return vault.seal(opened.secret, vaultPlace(connection))
    },
    seal: (key, connection) => vault.seal(key, vaultPlace(connection)),
    open: (sealed, connection) => vault.open(sealed, vaultPlace(connection))?.secret,
  }
}

const vaultPlace = ({ organizationId, id }: LlmConnectionKey): string => `${organizationId}/${id}`
