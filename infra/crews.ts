import type * as k8s from './k8s.ts'
import { Construct } from 'constructs'
import type { ClusterCrewEnv, SealingKeysEnv, TasksEnv } from '../services/tasks/env.ts'
import { AccessToRelease, AccessEverywhere, AccessToCrews, crewNamespace } from './access.ts'
import { CA_FILE, caMounts, caVolumes, hasCaBundle } from './kit/ca-bundle.ts'
import { databaseEnv } from './kit/database.ts'
import { dbProxySidecar } from './kit/db-proxy.ts'
import { env, podField, setWhen, unset } from './kit/env.ts'
import { extraEnvVars } from './kit/extras.ts'
import { databasePodPullSecrets, platformImage, runs } from './kit/image.ts'
import { argoSync, createJob } from './kit/job.ts'
import { nameOf, release } from './kit/names.ts'
import { proxyEnv } from './kit/proxy.ts'
import { proofEnv } from './kit/proof.ts'
import { initResources } from './kit/resources.ts'
import { noOauthEncryptionKey, secretKeyBase, secretsChecksum } from './kit/secret-keys.ts'
import { containerSecurity, PLATFORM_USER, podSecurity } from './kit/security.ts'
import { createServiceAccount } from './kit/workload.ts'
import type { Val } from './template/expression.ts'
import { literal } from './template/named.ts'
import { partWith } from './template/parts.ts'
import { isSet, pick, revision, text } from './template/operators.ts'
import { onlyWhen, when } from './template/structure.ts'
import { values } from './values.ts'

const { crews, envVars, global, networkPolicy, outgoing, rbac } = values

/**
 * Installs the crews that the platform itself has, the Assistant and the Runner, and follows them
 * until they are online.
 */
export class Crews extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    createServiceAccount(this, 'crews')
    onlyWhen(rbac.create, new CrewAccess(this, 'access'))
    createJob(this, {
      component: 'crews',
      // The revision too: a crew that was deleted comes back with the next upgrade, even one that
      // changes nothing else.
      name: (content) => text`${nameOf('crews')}-${revision}-${content}`,
      // A crew's token derives from the key, and its model's address and key come with the
      // operator's variables.
      podAnnotations: { ...secretsChecksum('SECRET_KEY_BASE'), ...extraEnvVars.checksum },
      annotations: argoSync,
      pod: pod(),
    })
  }
}

/** The crews that the platform itself has; everything of one bears its name. */
const NAMES = ['crew-assistant', 'crew-runner']

const named = (
  [group, resource]: readonly [string, string],
  resourceNames: readonly string[],
  verbs: readonly string[],
) => ({ apiGroups: [group], resources: [resource], resourceNames, verbs })

// An apply names what it creates, so that even the right to create ends at the names.
const toInstall = [
  named(['', 'secrets'], [...NAMES, 'crew-image-pull'], ['create', 'patch']),
  named(['', 'services'], NAMES, ['create', 'patch']),
  named(['apps', 'deployments'], NAMES, ['get', 'create', 'patch']),
  named(['networking.k8s.io', 'networkpolicies'], ['crew-network'], ['create', 'patch', 'delete']),
  { apiGroups: [''], resources: ['pods'], verbs: ['list'] },
]

/** Rights in the namespace of the release, where crews ran before they had one of their own. */
const toLeave = [
  named(['', 'secrets'], NAMES, ['delete']),
  named(['', 'services'], NAMES, ['delete']),
  named(['apps', 'deployments'], NAMES, ['delete']),
]

const toMakeNamespaces = { apiGroups: [''], resources: ['namespaces'], verbs: ['create', 'patch'] }

class CrewAccess extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    const grant = { name: 'crews', component: 'crews', rules: toInstall }
    new AccessToRelease(this, 'former', { ...grant, name: 'former-crews', rules: toLeave })
    new AccessToCrews(this, 'crews', grant)
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

const PULL_DIRECTORY = '/etc/platform/pull'
const PULL_KEY = '.dockerconfigjson'
const PULL_FILE = `${PULL_DIRECTORY}/${PULL_KEY}`

/**
 * The pull secret is of no use where the crews are: the Job makes one there with what it reads
 * here.
 */
const pullCredentials = {
  volume: when<k8s.Volume>(isSet(platformImage.pullSecret), {
    name: 'pull-credentials',
    secret: {
      secretName: platformImage.pullSecret,
      items: [{ key: PULL_KEY, path: PULL_KEY }],
      optional: true,
    },
  }),
  mount: when<k8s.VolumeMount>(isSet(platformImage.pullSecret), {
    name: 'pull-credentials',
    mountPath: PULL_DIRECTORY,
    readOnly: true,
  }),
}

const pod = () => ({
  automountServiceAccountToken: true,
  imagePullSecrets: databasePodPullSecrets(platformImage),
  securityContext: podSecurity(PLATFORM_USER),
  initContainers: dbProxySidecar(),
  volumes: [...caVolumes(), pullCredentials.volume],
  containers: [
    ...installer({ name: literal('assistant'), task: literal('designer:agent:install') }),
    ...installer({ name: literal('runner'), task: literal('designer:runner:install') }),
  ],
})

interface Installed {
  readonly name: Val<string>
  readonly task: Val<string>
}

const installer = partWith(
  {
    name: 'platform.crewInstaller',
    comment: 'Installs a crew, and follows it until it is online.',
  },
  (crew: Installed) => [installing(crew)],
)

const installing = ({ name, task }: Installed) => ({
  name,
  ...runs(platformImage),
  command: ['node', 'build/tasks/main.js', task],
  envFrom: extraEnvVars.from(),
  env: env<TasksEnv & SealingKeysEnv & ClusterCrewEnv>({
    ...databaseEnv('crews'),
    ...proofEnv(),
    LOG_LEVEL: envVars.LOG_LEVEL,
    ...proxyEnv(),
    ...secretKeyBase(),
    ...noOauthEncryptionKey,
    K8S_NAMESPACE: crewNamespace,
    POD_NAMESPACE: podField('metadata.namespace'),
    RELEASE_NAME: release,
    CREW_NAMESPACE_ISOLATION: pick(crews.namespaceIsolation, 'true', 'false'),
    CREW_NETWORK_POLICY: pick(networkPolicy.enabled, 'true', 'false'),
    CREW_MODEL_NAMESPACE: setWhen(
      isSet(networkPolicy.modelNamespace),
      networkPolicy.modelNamespace,
    ),
    CREW_TOOL_NAMESPACE: setWhen(isSet(networkPolicy.toolNamespace), networkPolicy.toolNamespace),
    CREW_PRIVATE_RANGES: pick(networkPolicy.crewPrivateRanges, 'true', 'false'),
    CREW_IMAGE: platformImage.reference,
    CREW_ARBITRARY_USER: pick(global.openshift, 'true', 'false'),
    CREW_CA_FILE: setWhen(hasCaBundle, CA_FILE),
    LLM_PRIVATE_ORIGINS: setWhen(isSet(outgoing.llmPrivateOrigins), outgoing.llmPrivateOrigins),
    TOOL_PRIVATE_ORIGINS: setWhen(isSet(outgoing.toolPrivateOrigins), outgoing.toolPrivateOrigins),
    CREW_IMAGE_PULL_FILE: setWhen(isSet(platformImage.pullSecret), PULL_FILE),
    CREW_IMAGE_PULL_SECRET: setWhen(isSet(platformImage.pullSecret), platformImage.pullSecret),
    // The model of the crews comes with the operator's own variables.
    OPENAI_BASE_URL: unset,
    OPENAI_API_KEY: unset,
    CREW_TIMEOUT_SECONDS: unset,
    DATABASE_WAIT_SECONDS: unset,
  }),
  resources: initResources(),
  volumeMounts: [...caMounts(), pullCredentials.mount],
  securityContext: containerSecurity(PLATFORM_USER),
})
