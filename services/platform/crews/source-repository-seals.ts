import type { Queryable } from '../../shared/postgres/database.ts'
import { createVault } from '../../shared/vault.ts'

/** The secrets of a repository, by their columns. */
const REPOSITORY_SECRETS = ['credential', 'webhook_secret'] as const
type RepositorySecretKind = (typeof REPOSITORY_SECRETS)[number]

/** Names a secret of a repository. */
export interface RepositorySecretKey {
  /** Of the automation's row. */
  readonly deploymentId: number
  readonly kind: RepositorySecretKind
}

/** A secret as the database has it. */
interface SealedRepositorySecret extends RepositorySecretKey {
  readonly sealed: Buffer
}

/** Seals the secrets of repositories. */
export interface RepositorySeals {
  seal(secret: string, key: RepositorySecretKey): Buffer
  /** Undefined when it was sealed with another SECRET_KEY_BASE, or for another repository. */
  open(sealed: Buffer, key: RepositorySecretKey): string | undefined
  /** Returns the secret sealed anew when it was sealed with the previous SECRET_KEY_BASE. */
  reseal(sealed: Buffer, key: RepositorySecretKey): Buffer | undefined
}

/** Seals with SECRET_KEY_BASE; while it is rotated, the previous one still opens what it sealed. */
export function createRepositorySeals(secretKeyBase: string, previous?: string): RepositorySeals {
  const label = 'crew-platform source repository'
  const vault = createVault({ label, current: secretKeyBase, previous })
  const placeOf = ({ deploymentId, kind }: RepositorySecretKey): string => `${deploymentId}/${kind}`
  return {
    seal: (secret, key) => vault.seal(secret, placeOf(key)),
    open: (sealed, key) => vault.open(sealed, placeOf(key))?.secret,
    reseal(sealed, key) {
      const opened = vault.open(sealed, placeOf(key))
      if (!opened || opened.isCurrent) return undefined
      return vault.seal(opened.secret, placeOf(key))
    },
  }
}

/** Returns the secrets of all repositories after one. Fewer than `limit` are the last. */
export const listSealedRepositorySecrets = (
  sql: Queryable,
  { after, limit }: { after: RepositorySecretKey | undefined; limit: number },
): Promise<SealedRepositorySecret[]> =>
  sql<SealedRepositorySecret[]>`
    select * from (
      select deployment_id, 'credential' as kind, sealed_credential as sealed
      from source_repositories where sealed_credential is not null
      union all
      select deployment_id, 'webhook_secret', sealed_webhook_secret
      from source_repositories where sealed_webhook_secret is not null) secrets
    where (deployment_id, kind) > (${after?.deploymentId ?? 0}, ${after?.kind ?? ''})
    order by deployment_id, kind limit ${limit}`

/** Puts another seal on a secret of a repository, unless somebody has changed it meanwhile. */
export async function replaceSealedRepositorySecret(
  sql: Queryable,
  { deploymentId, kind, sealed }: SealedRepositorySecret,
  resealed: Buffer,
): Promise<void> {
  const column = sql(`sealed_${kind}`)
  await sql`
    update source_repositories set ${column} = ${resealed}
    where deployment_id = ${deploymentId} and ${column} = ${sealed}`
}
