import type { SealingKeysEnv } from '../../services/tasks/env.ts'
import { waitForPostgres } from './database.ts'
import { dbProxySidecar } from './db-proxy.ts'
import type { VariablesOf } from './env.ts'
import { databasePodPullSecrets, platformImage } from './image.ts'
import { migrateMain } from './migrate.ts'
import { PLATFORM_USER, podSecurity } from './security.ts'

/** What the pods that work on the main database have in common. */
export const platformPod = (sealingKeys: VariablesOf<SealingKeysEnv>) => ({
  imagePullSecrets: databasePodPullSecrets(platformImage),
  securityContext: podSecurity(PLATFORM_USER),
  terminationGracePeriodSeconds: 30,
  initContainers: [dbProxySidecar(), waitForPostgres(), migrateMain(sealingKeys)],
})
