import { Construct } from 'constructs'
import type { ClusterCrewEnv, SealingKeysEnv, TasksEnv } from '../services/tasks/env.ts'
import {
  AccessAtHome,
  AccessEverywhere,
  AccessToCrews,
  crewNamespace,
  runAtHome,
} from './access.ts'
import { CA_FILE, caMount, caVolumes, hasCaBundle } from './kit/ca-bundle.ts'
import { databaseEnv } from './kit/database.ts'
import { dbProxySidecar } from './kit/db-proxy.ts'
import { env, setWhen } from './kit/env.ts'
import { extraEnvVars } from './kit/extras.ts'
import { databasePodPullSecrets, platformImage, runs } from './kit/image.ts'
import { argoSync, createJob } from './kit/job.ts'
import { nameOf } from './kit/names.ts'
import { initResources } from './kit/resources.ts'
import { secretKeyBase } from './kit/secret-keys.ts'
import { containerSecurity, PLATFORM_USER, podSecurity } from './kit/security.ts'
import { createServiceAccount } from './kit/workload.ts'
import { isSet, text } from './template/operators.ts'
import { onlyWhen } from './template/structure.ts'
import { values } from './values.ts'

const { crews, envVars, outgoing, rbac, secrets } = values

/** Installs the crews that the platform itself has, the Assistant and the Runner, and follows them until they are online. */
export class Crews extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    createServiceAccount(this, 'crews')
    onlyWhen(rbac.create, new CrewAccess(this, 'access'))
    createJob(this, {
      component: 'crews',
      name: (content) => text`${nameOf('crews')}-${content}`,
      // A crew's token derives from the key, and its model's address and key come with the operator's variables.
      changesWith: [secrets.SECRET_KEY_BASE, values.extraEnvVars],
      annotations: argoSync,
      pod: pod(),
    })
  }
}

const toInstall = [
  { apiGroups: [''], resources: ['secrets', 'services'], verbs: ['create', 'patch'] },
  { apiGroups: ['apps'], resources: ['deployments'], verbs: ['get', 'create', 'patch'] },
  { apiGroups: [''], resources: ['pods'], verbs: ['list'] },
]

const toMakeNamespaces = { apiGroups: [''], resources: ['namespaces'], verbs: ['create', 'patch'] }

class CrewAccess extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    const grant = { name: 'crews', component: 'crews', rules: toInstall }
    onlyWhen(runAtHome, new AccessAtHome(this, 'home', grant))
    new AccessToCrews(this, 'elsewhere', grant)
    onlyWhen(
      crews.namespaceIsolation,
      new AccessEverywhere(this, 'namespaces', {
        ...grant,
        name: 'crew-namespaces',
        rules: [toMakeNamespaces],
      }),
    )
  }
}

const pod = () => ({
  automountServiceAccountToken: true,
  imagePullSecrets: databasePodPullSecrets(platformImage),
  securityContext: podSecurity(PLATFORM_USER),
  initContainers: [dbProxySidecar()],
  volumes: caVolumes,
  containers: [
    installer('assistant', 'designer:agent:install'),
    installer('runner', 'designer:runner:install'),
  ],
})

const installer = (name: string, task: string) => ({
  name,
  ...runs(platformImage),
  command: ['node', 'build/tasks/main.js', task],
  envFrom: extraEnvVars.from,
  env: env<TasksEnv & SealingKeysEnv & ClusterCrewEnv>({
    ...databaseEnv(envVars.DB_NAME),
    LOG_LEVEL: envVars.LOG_LEVEL,
    ...secretKeyBase,
    K8S_NAMESPACE: crewNamespace,
    CREW_IMAGE: platformImage.reference,
    CREW_CA_FILE: setWhen(hasCaBundle, CA_FILE),
    LLM_PRIVATE_ORIGINS: setWhen(isSet(outgoing.llmPrivateOrigins), outgoing.llmPrivateOrigins),
    CREW_IMAGE_PULL_SECRET: setWhen(isSet(platformImage.pullSecret), platformImage.pullSecret),
  }),
  resources: initResources,
  volumeMounts: [caMount],
  securityContext: containerSecurity(PLATFORM_USER),
})
