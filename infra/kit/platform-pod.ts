import { waitForPostgres } from './database.ts'
import { dbProxySidecar } from './db-proxy.ts'
import { databasePodPullSecrets, platformImage } from './image.ts'
import { migrateMain } from './migrate.ts'
import { PLATFORM_USER, podSecurity } from './security.ts'

/** What the pods that work on the main database have in common. */
export const platformPod = () => ({
  imagePullSecrets: databasePodPullSecrets(platformImage),
  securityContext: podSecurity(PLATFORM_USER),
  terminationGracePeriodSeconds: 30,
  initContainers: [dbProxySidecar(), waitForPostgres(), migrateMain()],
})
