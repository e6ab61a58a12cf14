import type { SealingKeysEnv } from '../../services/tasks/env.ts'
import type { CallerOf } from '../calls.ts'
import type { ContainerValues } from './customize.ts'
import { waitForPostgres } from './database.ts'
import { dbProxySidecar } from './db-proxy.ts'
import type { VariablesOf } from './env.ts'
import { databasePodPullSecrets, platformImage } from './image.ts'
import { migrateMain } from './migrate.ts'
import { PLATFORM_USER, podSecurity } from './security.ts'

/** The common part of the pods that work on the main database. */
export const platformPod = (
  client: CallerOf<'postgres'>,
  sealingKeys: VariablesOf<SealingKeysEnv>,
  given: Pick<ContainerValues, 'securityContext'>,
) => ({
  imagePullSecrets: databasePodPullSecrets(platformImage),
  securityContext: podSecurity(PLATFORM_USER),
  initContainers: [
    ...dbProxySidecar(),
    ...waitForPostgres(client),
    migrateMain(client, sealingKeys, given),
  ],
})
