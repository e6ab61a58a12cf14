import * as k8s from './k8s.ts'
import { Construct } from 'constructs'
import { mainContainer, probesAt } from './kit/customize.ts'
import { isRegistryGated } from './calls.ts'
import type { RegistryGateEnv } from '../services/registry-gate/env.ts'
import { caMounts, caVolumes } from './kit/ca-bundle.ts'
import { env, unset } from './kit/env.ts'
import { platformImage, registryImage, runs } from './kit/image.ts'
import { labels } from './kit/labels.ts'
import { nameOf } from './kit/names.ts'
import { databaseHealthProbes } from './kit/probes.ts'
import { initResources, resourcesOf } from './kit/resources.ts'
import { fromSecret, secretsChecksum } from './kit/secret-keys.ts'
import { containerSecurity, PLATFORM_USER, podSecurity } from './kit/security.ts'
import {
  accountAnnotations,
  createDeployment,
  createService,
  createServiceAccount,
  scratch,
} from './kit/workload.ts'
import { helper } from './template/named.ts'
import { digest, digits, distinct, isSet, not, pick, text } from './template/operators.ts'
import { create } from './kit/create.ts'
import { noted, eachText, quantity, spread, when, whenSet } from './template/structure.ts'
import { values } from './values.ts'

const { internalRegistry: registry } = values

/** Keeps the images of crews. One pod on one volume, so it is replaced and not rolled. */
export class InternalRegistry extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    createServiceAccount(this, 'internal-registry', accountAnnotations(registry))
    const metadata = { name: nameOf('internal-registry'), labels: labels('internal-registry') }
    create(this, k8s.KubeConfigMap, { metadata, data: { 'config.yml': CONFIG } })
    create(this, k8s.KubePersistentVolumeClaim, claim())
    createService(this, 'internal-registry', {
      given: registry.service,
      type: noted(
        'Nodes pull from `localhost`, where every node has a port for it.',
        pick(isRegistryGated, 'NodePort', 'ClusterIP'),
      ),
      ports: [
        { name: 'http', port: registry.port, targetPort: k8s.IntOrString.fromString('http') },
      ],
    })
    createDeployment(this, {
      component: 'internal-registry',
      replicas: 1,
      strategy: { type: 'Recreate' },
      pods: registry,
      annotations: { 'checksum/config': digest(CONFIG), ...secretsChecksum('REGISTRY_KEY') },
      pod: {
        imagePullSecrets: pullSecrets,
        securityContext: podSecurity(PLATFORM_USER),
        terminationGracePeriodSeconds: registry.terminationGracePeriodSeconds,
        initContainers: [
          noted(
            'Before it serves: nothing may be pushed while it looks for what no image ' +
              'names any more.',
            when<k8s.Container>(isRegistryGated, collector()),
          ),
        ],
        containers: [
          when<k8s.Container>(isRegistryGated, gate()),
          when<k8s.Container>(isRegistryGated, mainContainer(registry, server({}))),
          when<k8s.Container>(not(isRegistryGated), mainContainer(registry, server(OPEN))),
        ],
        volumes: [
          { name: 'data', persistentVolumeClaim: { claimName: nameOf('internal-registry') } },
          { name: 'config', configMap: { name: nameOf('internal-registry') } },
          tmp.volume,
          ...caVolumes(),
          when<k8s.Volume>(isSet(registry.htpasswdSecret), {
            name: 'auth',
            secret: { secretName: registry.htpasswdSecret },
          }),
        ],
      },
    })
  }
}

const claim = () => ({
  metadata: {
    name: nameOf('internal-registry'),
    labels: labels('internal-registry'),
    annotations: {
      'helm.sh/resource-policy': when<string>(registry.storage.retain, 'keep'),
      ...spread(registry.storage.annotations),
    },
  },
  spec: {
    accessModes: ['ReadWriteOnce'],
    storageClassName: whenSet(registry.storage.className),
    resources: { requests: { storage: quantity(registry.storage.size) } },
  },
})

const tmp = scratch('/tmp')

const pullSecrets = [
  eachText<k8s.LocalObjectReference>(
    distinct(registryImage.pullSecret, pick(isRegistryGated, platformImage.pullSecret, '')),
    (name) => ({ name }),
  ),
]

/** Nobody but the gate reaches it there. */
const GATED_PORT = 5010

const CONFIG = helper(
  { name: 'platform.registryConfig', comment: 'The configuration of the registry.' },
  text`version: 0.1
log:
  level: info
  formatter: json
  accesslog:
    disabled: true
http:
  addr: ${pick(isRegistryGated, `127.0.0.1:${GATED_PORT}`, text`:${registry.port}`)}
  relativeurls: true
  headers:
    X-Content-Type-Options: [nosniff]
storage:
  filesystem:
    rootdirectory: /var/lib/registry
  delete:
    enabled: true
health:
  storagedriver:
    enabled: true`,
)

const server = (reached: object) => ({
  name: 'registry',
  ...runs(registryImage),
  env: [
    { name: 'OTEL_TRACES_EXPORTER', value: 'none' },
    when<k8s.EnvVar>(isSet(registry.htpasswdSecret), { name: 'REGISTRY_AUTH', value: 'htpasswd' }),
    when<k8s.EnvVar>(isSet(registry.htpasswdSecret), {
      name: 'REGISTRY_AUTH_HTPASSWD_REALM',
      value: 'internal-registry',
    }),
    when<k8s.EnvVar>(isSet(registry.htpasswdSecret), {
      name: 'REGISTRY_AUTH_HTPASSWD_PATH',
      value: '/auth/htpasswd',
    }),
  ],
  ...reached,
  resources: resourcesOf(registry.resources),
  volumeMounts: [
    { name: 'data', mountPath: '/var/lib/registry' },
    { name: 'config', mountPath: '/etc/distribution', readOnly: true },
    tmp.mount,
    when<k8s.VolumeMount>(isSet(registry.htpasswdSecret), {
      name: 'auth',
      mountPath: '/auth',
      readOnly: true,
    }),
  ],
  securityContext: containerSecurity(PLATFORM_USER),
})

const HTTP = k8s.IntOrString.fromString('http')
const answers = { httpGet: { path: '/', port: HTTP } }
const ports = [{ name: 'http', containerPort: registry.port }]

const CONFIG_FILE = '/etc/distribution/config.yml'

/** Frees the room of deleted images. What it cannot read it leaves, and the registry starts. */
const collector = () => ({
  name: 'collect',
  ...runs(registryImage),
  command: [
    'sh',
    '-c',
    `registry garbage-collect --delete-untagged ${CONFIG_FILE} ||
      echo 'The room of deleted images is not freed.' >&2`,
  ],
  env: [{ name: 'OTEL_TRACES_EXPORTER', value: 'none' }],
  resources: resourcesOf(registry.resources),
  volumeMounts: [
    { name: 'data', mountPath: '/var/lib/registry' },
    { name: 'config', mountPath: '/etc/distribution', readOnly: true },
    tmp.mount,
  ],
  securityContext: containerSecurity(PLATFORM_USER),
})

/** The registry as others reach it; `/` needs no sign-in. Behind its gate it is as healthy. */
const OPEN = {
  ports,
  startupProbe: answers,
  readinessProbe: answers,
  livenessProbe: { tcpSocket: { port: HTTP } },
}

/** Lets the credential of an organization reach its own repositories. */
const gate = () => ({
  name: 'gate',
  ...runs(platformImage),
  command: ['node', 'build/registry-gate/main.js'],
  ports,
  env: env<RegistryGateEnv>({
    PORT: digits(registry.port),
    HOST: unset,
    LOG_LEVEL: values.envVars.LOG_LEVEL,
    REGISTRY_URL: `http://127.0.0.1:${GATED_PORT}`,
    // Waits for the one that is generated. A Secret of the operator may lack it: then nobody gets
    // in, and crews are not built as images.
    REGISTRY_KEY: fromSecret('REGISTRY_KEY', {
      optional: when<boolean>(isSet(values.secrets.existingSecret), true),
    }),
  }),
  ...probesAt(registry, databaseHealthProbes),
  resources: initResources(),
  volumeMounts: [tmp.mount, ...caMounts()],
  securityContext: containerSecurity(PLATFORM_USER),
})
