import type { SealingKeysEnv, TasksEnv } from '../../services/tasks/env.ts'
import type { CallerOf } from '../calls.ts'
import { values } from '../values.ts'
import { instead } from '../template/given.ts'
import { caMounts } from './ca-bundle.ts'
import type { ContainerValues } from './customize.ts'
import { databaseEnv } from './database.ts'
import { env, unset } from './env.ts'
import type { VariablesOf } from './env.ts'
import { platformImage, runs } from './image.ts'
import { initResources } from './resources.ts'
import { containerSecurity, PLATFORM_USER } from './security.ts'

const { envVars } = values

/**
 * Brings the main database to the schema of this image, before each start; an advisory lock lets
 * one pod do it. Then it checks that the pod has the keys that the database was sealed with.
 */
export const migrateMain = (
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
    DATABASE_WAIT_SECONDS: unset,
    ...sealingKeys,
  }),
  resources: initResources(),
  volumeMounts: [...caMounts()],
  securityContext: instead(securityContext, containerSecurity(PLATFORM_USER)),
})
