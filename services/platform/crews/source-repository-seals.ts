import type { Queryable } from '../../shared/postgres/database.ts'
import { sealsOf } from '../../shared/vault.ts'
import type { Seals } from '../../shared/vault.ts'

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
export type RepositorySeals = Seals<RepositorySecretKey>

/** Creates the seals from SECRET_KEY_BASE and, while it is rotated, the previous one. */
export const createRepositorySeals = sealsOf(
  'crew-platform source repository',
  ({ deploymentId, kind }: RepositorySecretKey) => `${deploymentId}/${kind}`,
)

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
