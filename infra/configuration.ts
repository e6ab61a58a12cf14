import * as k8s from './k8s.ts'
import { Construct } from 'constructs'
import type { ConfigurationEnv } from '../services/tasks/env.ts'
import { addressOf } from './calls.ts'
import { caMounts, caVolumes } from './kit/ca-bundle.ts'
import { create } from './kit/create.ts'
import { databaseEnv } from './kit/database.ts'
import { dbProxySidecar } from './kit/db-proxy.ts'
import { env, unset } from './kit/env.ts'
import { databasePodPullSecrets, platformImage, platformVersion, runs } from './kit/image.ts'
import { argoSync, createJob } from './kit/job.ts'
import { labels } from './kit/labels.ts'
import { nameOf } from './kit/names.ts'
import { proofEnv } from './kit/proof.ts'
import { initResources } from './kit/resources.ts'
import { containerSecurity, PLATFORM_USER, podSecurity } from './kit/security.ts'
import { createServiceAccount } from './kit/workload.ts'
import { asLines } from './template/given.ts'
import { isSet, revision, sha256, text } from './template/operators.ts'
import { each, onlyWhen, when } from './template/structure.ts'
import { values } from './values.ts'
import type { Values } from './values.ts'

const { envVars } = values
const { existingConfigMap, prune, resources, secrets } = values.configuration

const DIRECTORY = '/etc/platform/configuration'
const VALUES = `${DIRECTORY}/values`
const OWN = `${DIRECTORY}/own`
/** Documents name the keys without it. */
const SECRET_PREFIX = 'CONFIGURATION_SECRET_'

/** Gives the first organization what the documents of the operator say. */
export class Configuration extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    createServiceAccount(this, 'configuration')
    onlyWhen(isSet(resources), new Documents(this, 'documents'))
    createJob(this, {
      component: 'configuration',
      // The revision too: the operator's own ConfigMap may have changed, and what a person changed
      // is changed back.
      name: (content) => text`${nameOf('configuration')}-${revision}-${content}`,
      podAnnotations: { 'checksum/configuration': sha256(resources) },
      annotations: argoSync,
      pod: pod(),
    })
  }
}

class Documents extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    create(this, k8s.KubeConfigMap, {
      metadata: { name: nameOf('configuration'), labels: labels('configuration') },
      data: { 'resources.json': asLines(resources) },
    })
  }
}

/** A directory of documents, while there is a ConfigMap for it. */
const directory = (name: 'values' | 'own') => {
  const isThere = isSet(name === 'values' ? resources : existingConfigMap)
  const configMap = { name: name === 'values' ? nameOf('configuration') : existingConfigMap }
  const mountPath = name === 'values' ? VALUES : OWN
  return {
    volume: when<k8s.Volume>(isThere, { name, configMap }),
    mount: when<k8s.VolumeMount>(isThere, { name, mountPath, readOnly: true }),
    argument: when<string>(isThere, mountPath),
  }
}

const directories = [directory('values'), directory('own')]

const pod = () => ({
  imagePullSecrets: databasePodPullSecrets(platformImage),
  securityContext: podSecurity(PLATFORM_USER),
  initContainers: dbProxySidecar(),
  volumes: [...caVolumes(), ...directories.map(({ volume }) => volume)],
  containers: [
    {
      name: 'configuration',
      ...runs(platformImage),
      command: ['node', 'build/tasks/main.js'],
      args: [
        'configure',
        ...directories.map(({ argument }) => argument),
        when<string>(prune, '--prune'),
      ],
      envFrom: [
        each<Secret, k8s.EnvFromSource>(secrets, (item) => ({
          prefix: SECRET_PREFIX,
          secretRef: { name: item('name') },
        })),
      ],
      env: env<ConfigurationEnv>({
        ...databaseEnv('configuration'),
        LOG_LEVEL: envVars.LOG_LEVEL,
        ...proofEnv(),
        DATABASE_WAIT_SECONDS: unset,
        PLATFORM_URL: addressOf({ from: 'configuration', to: 'web' }),
        PLATFORM_VERSION: platformVersion,
        WEB_WAIT_SECONDS: unset,
      }),
      resources: initResources(),
      volumeMounts: [...caMounts(), ...directories.map(({ mount }) => mount)],
      securityContext: containerSecurity(PLATFORM_USER),
    },
  ],
})

type Secret = Values['configuration']['secrets'][number]
