import type { TasksEnv } from '../../services/tasks/env.ts'
import { values } from '../values.ts'
import { caMount } from './ca-bundle.ts'
import { databaseEnv } from './database.ts'
import { env } from './env.ts'
import { platformImage, runs } from './image.ts'
import { initResources } from './resources.ts'
import { containerSecurity, PLATFORM_USER } from './security.ts'

const { envVars } = values

/** Brings the main database to the schema of this image, before each start; an advisory lock lets one pod do it. */
export const migrateMain = () => ({
  name: 'migrate',
  ...runs(platformImage),
  command: ['node', 'build/tasks/main.js', 'migrate'],
  env: env<TasksEnv>({ ...databaseEnv(envVars.DB_NAME), LOG_LEVEL: envVars.LOG_LEVEL }),
  resources: initResources,
  volumeMounts: [caMount],
  securityContext: containerSecurity(PLATFORM_USER),
})
