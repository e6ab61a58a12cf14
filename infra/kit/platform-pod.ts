import type { SealingKeysEnv, TasksEnv } from '../../services/tasks/env.ts'
import type { CallerOf } from '../calls.ts'
import type { ContainerValues } from './customize.ts'
import { waitForPostgres, databaseEnv } from './database.ts'
import { dbProxySidecar } from './db-proxy.ts'
import type { VariablesOf } from './env.ts'
import { databasePodPullSecrets, platformImage, runs } from './image.ts'
import { PLATFORM_USER, podSecurity, containerSecurity } from './security.ts'
import { values } from '../values.ts'
import { instead } from '../template/given.ts'
import { caMounts } from './ca-bundle.ts'
import { env, unset } from './env.ts'
import { proofEnv } from './proof.ts'
import { initResources } from './resources.ts'

const { envVars } = values

/**
 * Brings the main database to the schema of this image, before each start; an advisory lock lets
 * one pod do it. Then it checks that the pod has the keys that the database was sealed with.
 */
const migrateMain = (
  client: CallerOf<'postgres'>,
  sealingKeys: VariablesOf<SealingKeysEnv>,
  { securityContext }: Pick<ContainerValues, 'securityContext'>,
) => ({
  name: 'migrate',
  ...runs(platformImage),
  command: ['node', 'build/tasks/main.js', 'migrate'],
  env: env<TasksEnv & SealingKeysEnv>({
    ...databaseEnv(client),
    LOG_LEVEL: envVars.LOG_LEVEL,
    ...proofEnv(),
    DATABASE_WAIT_SECONDS: unset,
    ...sealingKeys,
  }),
  resources: initResources(),
  volumeMounts: [...caMounts()],
  securityContext: instead(securityContext, containerSecurity(PLATFORM_USER)),
})

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
