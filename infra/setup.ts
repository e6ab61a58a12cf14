import { Construct } from 'constructs'
import type { TasksEnv } from '../services/tasks/env.ts'
import { caMounts, caVolumes } from './kit/ca-bundle.ts'
import { databaseEnv } from './kit/database.ts'
import { dbProxySidecar } from './kit/db-proxy.ts'
import { env, unset } from './kit/env.ts'
import { databasePodPullSecrets, platformImage, runs } from './kit/image.ts'
import { argoSync, createJob } from './kit/job.ts'
import { nameOf } from './kit/names.ts'
import { proofEnv } from './kit/proof.ts'
import { initResources } from './kit/resources.ts'
import { containerSecurity, PLATFORM_USER, podSecurity } from './kit/security.ts'
import { createServiceAccount } from './kit/workload.ts'
import { revision, text } from './template/operators.ts'
import { values } from './values.ts'

const { envVars } = values

/**
 * Brings the main database to what every installation has: the internal organization with its
 * crews, and the tool repository. It waits for the schema, and changes nothing where all of it is
 * there.
 */
export class Setup extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    createServiceAccount(this, 'setup')
    createJob(this, {
      component: 'setup',
      // The revision too: what a database has lost comes back with the next upgrade, even one that
      // changes nothing else.
      name: (content) => text`${nameOf('setup')}-${revision}-${content}`,
      annotations: argoSync,
      pod: pod(),
    })
  }
}

const pod = () => ({
  imagePullSecrets: databasePodPullSecrets(platformImage),
  securityContext: podSecurity(PLATFORM_USER),
  initContainers: dbProxySidecar(),
  volumes: caVolumes(),
  containers: [
    {
      name: 'setup',
      ...runs(platformImage),
      command: ['node', 'build/tasks/main.js', 'setup'],
      env: env<TasksEnv>({
        ...databaseEnv('setup'),
        LOG_LEVEL: envVars.LOG_LEVEL,
        ...proofEnv(),
        DATABASE_WAIT_SECONDS: unset,
      }),
      resources: initResources(),
      volumeMounts: [...caMounts()],
      securityContext: containerSecurity(PLATFORM_USER),
    },
  ],
})
