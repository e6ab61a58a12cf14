import { randomBytes } from 'node:crypto'
import {
  askPull,
  findRepository,
  removeRepository,
  saveRepository,
  setWebhookSecret,
} from '../../../platform/crews/source-repositories.ts'
import type { OwnCrewKey } from '../../../platform/crews/crew-settings.ts'
import type { RepositoryPlace } from '../../../platform/crews/source-repositories.ts'
import { createRepositorySeals } from '../../../platform/crews/source-repository-seals.ts'
import type { Queryable } from '../../../shared/postgres/database.ts'
import type { WebDeps } from '../../context.ts'
import type { Acting } from '../../gate/callers/audited.ts'
import type { OwnCrew } from './own-crew.ts'
import { recordChange } from './record-change.ts'

const SECRET_BYTES = 32

/** A repository as people give it. */
export interface GivenRepository extends RepositoryPlace {
  /** null: none; undefined: the one that is there. */
  readonly token: string | null | undefined
}

/** What people do with the repository of an automation; each is recorded. */
interface RepositoryChanges {
  save(acting: Acting, crew: OwnCrew, given: GivenRepository): Promise<void>
  pull(acting: Acting, crew: OwnCrew): Promise<void>
  remove(acting: Acting, crew: OwnCrew): Promise<void>
  /** Returns the new secret, which is never shown again. */
  makeSecret(acting: Acting, crew: OwnCrew): Promise<string>
  removeSecret(acting: Acting, crew: OwnCrew): Promise<void>
}

/** Returns the address to which the server of a repository sends its pushes. */
export const webhookUrlOf = ({ config }: Pick<WebDeps, 'config'>, { automation }: OwnCrew) =>
  `${config.PLATFORM_BASE_URL}/git-webhooks/${automation.automationId}`

/** Saves a repository with its token, sealed; an empty one is none. */
export async function saveGivenRepository(
  { config }: Pick<WebDeps, 'config'>,
  sql: Queryable,
  { deploymentId, token, ...place }: GivenRepository & OwnCrewKey,
): Promise<void> {
  const seals = createRepositorySeals(config.SECRET_KEY_BASE, config.SECRET_KEY_BASE_PREVIOUS)
  const none = token === undefined ? undefined : null
  const sealedToken = token ? seals.seal(token, { deploymentId, kind: 'credential' }) : none
  await saveRepository(sql, { deploymentId }, { ...place, sealedToken })
}

/** Creates the changes that the API and the console make. */
export function createRepositoryChanges({ sql, config }: WebDeps): RepositoryChanges {
  const seals = createRepositorySeals(config.SECRET_KEY_BASE, config.SECRET_KEY_BASE_PREVIOUS)
  return {
    async save({ actor, wide }, crew, { token, ...place }) {
      const { deploymentId } = crew
      const before = await findRepository(sql, crew)
      const { url, ref, directory } = before ?? {}
      await recordChange({ sql, actor, wide }, crew.automation, {
        action: 'repository_saved',
        change: (tx) => saveGivenRepository({ config }, tx, { ...place, token, deploymentId }),
        after: { ...place, before: before && { url, ref, directory }, new_token: Boolean(token) },
      })
    },
    pull: ({ actor, wide }, crew) =>
      recordChange({ sql, actor, wide }, crew.automation, {
        action: 'repository_pull_asked',
        change: (tx) => askPull(tx, crew, crew.createdBy),
      }),
    remove: ({ actor, wide }, crew) =>
      recordChange({ sql, actor, wide }, crew.automation, {
        action: 'repository_removed',
        change: (tx) => removeRepository(tx, crew),
      }),
    async makeSecret({ actor, wide }, crew) {
      const secret = randomBytes(SECRET_BYTES).toString('base64url')
      const key = { deploymentId: crew.deploymentId, kind: 'webhook_secret' } as const
      await recordChange({ sql, actor, wide }, crew.automation, {
        action: 'repository_webhook_created',
        change: (tx) => setWebhookSecret(tx, crew, seals.seal(secret, key)),
      })
      return secret
    },
    removeSecret: ({ actor, wide }, crew) =>
      recordChange({ sql, actor, wide }, crew.automation, {
        action: 'repository_webhook_removed',
        change: (tx) => setWebhookSecret(tx, crew, null),
      }),
  }
}
