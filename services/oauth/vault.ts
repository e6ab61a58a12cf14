import { AppError } from '../shared/errors.ts'
import { createVault as createSharedVault } from '../shared/vault.ts'
import type { Opened } from '../shared/vault.ts'

/** The context of a sealed secret, in which alone it opens. */
interface SealContext {
  readonly connectionId: string
  readonly field: 'access_token' | 'refresh_token' | 'code_verifier' | 'client_secret'
}

/** Seals the secrets of connections for the database. */
export interface Vault {
  seal(secret: string, context: SealContext): Buffer
  /** Raises `internal` when the secret was changed, moved, or sealed with another key. */
  open(sealed: Buffer, context: SealContext): Opened
}

/** A vault that seals with the current key, and also opens what the previous one sealed. */
export function createVault(current: string, previous?: string): Vault {
  const vault = createSharedVault({ label: 'crew-platform oauth token key', current, previous })
  return {
    seal: (secret, context) => vault.seal(secret, nameOf(context)),
    open: (sealed, context) => vault.open(sealed, nameOf(context)) ?? unreadable(context),
  }
}

const nameOf = ({ connectionId, field }: SealContext): string => `${connectionId}/${field}`

function unreadable({ connectionId, field }: SealContext): never {
  throw new AppError(
    'internal',
    `The ${field} of connection ${connectionId} cannot be decrypted: it was sealed with a key ` +
      'that is neither OAUTH_ENCRYPTION_KEY nor OAUTH_ENCRYPTION_KEY_PREVIOUS, or it was ' +
      'changed. Put the key back, or authorize the connection again.',
    { details: { code: 'tokens_unreadable', connection_id: connectionId } },
  )
}
