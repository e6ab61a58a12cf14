import type * as k8s from './k8s.ts'
import { Construct } from 'constructs'
import type { WorkerEnv } from '../services/worker/env.ts'
import { AccessEverywhere, AccessToCrews, AccessToRelease, crewNamespace } from './access.ts'
import { hasOwnBuildTls, tlsSecret } from './build-tls.ts'
import { addressOf, collectorInCluster, isRegistryGated, webInCluster } from './calls.ts'
import { also } from './kit/also.ts'
import { CA_FILE, hasCaBundle } from './kit/ca-bundle.ts'
import { podField, setWhen } from './kit/env.ts'
import type { VariablesOf } from './kit/env.ts'
import { buildkitImage, pythonImage } from './kit/image.ts'
import { nameOf, release } from './kit/names.ts'
import { all, amountText, any, isSet, orElse, pick, text } from './template/operators.ts'
import { fromSecret } from './kit/secret-keys.ts'
import { onlyWhen, when } from './template/structure.ts'
import { values } from './values.ts'

const { buildkit, collector, crews, global, internalRegistry, networkPolicy, outgoing } = values

// An organization names as many crews as it likes, so that no right can end at their names.
const toDeploy = [
  {
    apiGroups: [''],
    resources: ['services'],
    verbs: ['get', 'list', 'create', 'patch', 'delete'],
  },
  // Written and never read: the worker knows what is in them.
  { apiGroups: [''], resources: ['secrets'], verbs: ['create', 'patch', 'delete'] },
  {
    apiGroups: ['apps'],
    resources: ['deployments'],
    verbs: ['get', 'create', 'patch', 'delete'],
  },
  {
    apiGroups: ['batch'],
    resources: ['jobs'],
    verbs: ['get', 'create', 'patch', 'delete'],
  },
  {
    apiGroups: ['networking.k8s.io'],
    resources: ['networkpolicies'],
    verbs: ['get', 'create', 'patch', 'delete'],
  },
  { apiGroups: [''], resources: ['pods'], verbs: ['list'] },
  { apiGroups: [''], resources: ['pods/log'], verbs: ['get'] },
]

/** The rights with which workers make crews from source, where the crews are. */
export class WorkerAccess extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    const grant = { name: 'crews-from-source', component: 'worker', rules: toDeploy }
    new AccessToCrews(this, 'crews', grant)
    onlyWhen(
      buildsImages,
      new AccessToRelease(this, 'registry', {
        ...grant,
        name: 'registry-port',
        rules: [
          {
            apiGroups: [''],
            resources: ['services'],
            resourceNames: [nameOf('internal-registry')],
            verbs: ['get'],
          },
          {
            // It starts again to free the room of deleted images.
            apiGroups: ['apps'],
            resources: ['deployments'],
            resourceNames: [nameOf('internal-registry')],
            verbs: ['patch'],
          },
        ],
      }),
    )
    onlyWhen(
      crews.namespaceIsolation,
      new AccessEverywhere(this, 'namespaces', {
        ...grant,
        name: 'worker-namespaces',
        rules: [{ apiGroups: [''], resources: ['namespaces'], verbs: ['create', 'patch'] }],
      }),
    )
  }
}

const on = crews.fromSource
/** BuildKit knows its callers, and the registry those of each organization. */
const buildsImages = all(
  isRegistryGated,
  buildkit.enabled,
  any(isSet(buildkit.tlsSecret), hasOwnBuildTls),
)
const CERTIFICATES = '/etc/platform/builds'
const CLIENT_FILES = ['ca.pem', 'client-cert.pem', 'client-key.pem']

/** The client's certificates; a worker reads them for each build. */
export const buildCertificates = {
  volume: when<k8s.Volume>(buildsImages, {
    name: 'build-certificates',
    secret: {
      secretName: tlsSecret,
      items: CLIENT_FILES.map((key) => ({ key, path: key })),
      optional: true,
    },
  }),
  mount: when<k8s.VolumeMount>(buildsImages, {
    name: 'build-certificates',
    mountPath: CERTIFICATES,
    readOnly: true,
  }),
}

const { modelNamespace, toolNamespace } = networkPolicy
const modelNamespaceToo = also(isSet(modelNamespace), modelNamespace)
const toolNamespaceToo = also(isSet(toolNamespace), toolNamespace)

/** The variables of web and worker that say what settings of crews may be. */
export const crewSettingsEnv = {
  CREW_STORAGE_MAX: setWhen(on, amountText(crews.organizationStorage)),
  CREW_CPU_MAX: setWhen(on, amountText(crews.limits.cpu)),
  CREW_MEMORY_MAX: setWhen(on, amountText(crews.limits.memory)),
  CREW_PRIVATE_RANGES: setWhen(on, pick(networkPolicy.crewPrivateRanges, 'true', 'false')),
  CREW_RANGES: setWhen(all(on, isSet(networkPolicy.crewRanges)), networkPolicy.crewRanges),
  CREW_NAMESPACES: setWhen(
    on,
    text`${orElse(networkPolicy.crewNamespaces, '-')}${modelNamespaceToo}${toolNamespaceToo}`,
  ),
}

/** The variables of the worker for crews from source. */
export const crewsFromSourceEnv = {
  K8S_NAMESPACE: setWhen(on, crewNamespace),
  POD_NAMESPACE: setWhen(on, podField('metadata.namespace')),
  RELEASE_NAME: setWhen(on, release),
  CREW_PYTHON_IMAGE: setWhen(on, pythonImage.reference),
  CREW_PULL_POLICY: setWhen(on, pythonImage.pullPolicy),
  // The Job that installs the platform's crews makes the first one.
  CREW_PULL_CREDENTIALS: setWhen(
    all(on, isSet(pythonImage.pullSecret)),
    text`crew-image-pull,${pythonImage.pullSecret}`,
  ),
  CREW_WEB_URL: setWhen(on, webInCluster),
  CREW_COLLECTOR_URL: setWhen(all(on, collector.enabled), collectorInCluster),
  ...crewSettingsEnv,
  CREW_NETWORK_POLICY: setWhen(on, pick(networkPolicy.enabled, 'true', 'false')),
  LLM_PRIVATE_ORIGINS: setWhen(
    all(on, isSet(outgoing.llmPrivateOrigins)),
    outgoing.llmPrivateOrigins,
  ),
  CREW_OPEN_NAMESPACES: setWhen(
    all(on, any(isSet(modelNamespace), isSet(toolNamespace))),
    text`${modelNamespaceToo}${toolNamespaceToo}`,
  ),
  BUILDKIT_IMAGE: setWhen(buildsImages, buildkitImage.reference),
  BUILDKIT_ADDRESS: setWhen(buildsImages, addressOf({ from: 'builds', to: 'buildkit' })),
  BUILDKIT_CERTIFICATES: setWhen(buildsImages, CERTIFICATES),
  BUILDKIT_ORGANIZATIONS: setWhen(
    all(buildsImages, isSet(buildkit.organizations)),
    buildkit.organizations,
  ),
  REGISTRY_ADDRESS: setWhen(buildsImages, addressOf({ from: 'buildkit', to: 'internal-registry' })),
  REGISTRY_PULL_ADDRESS: setWhen(
    all(buildsImages, isSet(internalRegistry.pullAddress)),
    internalRegistry.pullAddress,
  ),
  REGISTRY_SERVICE: setWhen(buildsImages, nameOf('internal-registry')),
  REGISTRY_KEY: setWhen(buildsImages, fromSecret('REGISTRY_KEY', { optional: true })),
  CREW_CA_FILE: setWhen(all(on, hasCaBundle), CA_FILE),
  CREW_ARBITRARY_USER: setWhen(on, pick(global.openshift, 'true', 'false')),
} satisfies Partial<VariablesOf<WorkerEnv>>
