import { k8s } from 'cdk8s-plus-28'
import { Construct } from 'constructs'
import type { WebEnv } from '../services/web/env.ts'
import { collectorUrl } from './collector.ts'
import { databaseEnv } from './kit/database.ts'
import { env, setWhen } from './kit/env.ts'
import { platformImage, runs } from './kit/image.ts'
import { labels } from './kit/labels.ts'
import { nameOf } from './kit/names.ts'
import { platformPod } from './kit/platform-pod.ts'
import { databaseHealthProbes } from './kit/probes.ts'
import { resourcesOf } from './kit/resources.ts'
import { fromSecret, secretsChecksum } from './kit/secret-keys.ts'
import { containerSecurity, PLATFORM_USER } from './kit/security.ts'
import {
  createDeployment,
  createService,
  createServiceAccount,
  extraEnvVars,
  scratch,
} from './kit/workload.ts'
import { builtIn, digits } from './template/operators.ts'
import { create, onlyWhen } from './template/structure.ts'
import { values } from './values.ts'

const { web, collector, envVars, rbac } = values

/** The user interface and the automation API, with the diagnostic probe. */
export class Web extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    createServiceAccount(this, 'web')
    onlyWhen(rbac.create, new DeploymentReader(this, 'platform-health'))
    createService(this, 'web', [
      { name: 'http', port: web.servicePort, targetPort: k8s.IntOrString.fromString('http') },
    ])
    createDeployment(this, {
      component: 'web',
      replicas: web.replicaCount,
      scheduling: web,
      annotations: {
        ...secretsChecksum(
          'PLATFORM_DEBUG_TOKEN',
          'SECRET_KEY_BASE',
          'COLLECTOR_JWT_SECRET',
          'DB_PASSWORD',
        ),
        ...extraEnvVars.checksum,
      },
      pod: {
        ...platformPod(),
        // The diagnostic probe reads Deployments.
        automountServiceAccountToken: true,
        containers: [server()],
        volumes: [tmp.volume],
      },
    })
  }
}

/** Lets the diagnostic probe read the Deployments of the install namespace (SPEC 7, platform_pods). */
class DeploymentReader extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    const metadata = { name: nameOf('platform-health'), labels: labels('web') }
    create(this, k8s.KubeRole, {
      metadata,
      rules: [{ apiGroups: ['apps'], resources: ['deployments'], verbs: ['get', 'list'] }],
    })
    create(this, k8s.KubeRoleBinding, {
      metadata,
      roleRef: {
        apiGroup: 'rbac.authorization.k8s.io',
        kind: 'Role',
        name: nameOf('platform-health'),
      },
      subjects: [{ kind: 'ServiceAccount', name: nameOf('web') }],
    })
  }
}

const tmp = scratch('/tmp')

const server = () => ({
  name: 'web',
  ...runs(platformImage),
  command: ['node', 'build/web/main.js'],
  ports: [{ name: 'http', containerPort: web.port }],
  envFrom: extraEnvVars.from,
  env: env<WebEnv>({
    ...databaseEnv(envVars.DB_NAME),
    PORT: digits(web.port),
    LOG_LEVEL: envVars.LOG_LEVEL,
    PLATFORM_SELF_HOSTED: 'true',
    PLATFORM_PROVIDER: envVars.PLATFORM_PROVIDER,
    PLATFORM_VERSION: builtIn('Chart.AppVersion'),
    PLATFORM_BASE_URL: envVars.PLATFORM_BASE_URL,
    PLATFORM_API_PREFIX: envVars.PLATFORM_API_PREFIX,
    PLATFORM_DEBUG_TOKEN: fromSecret('PLATFORM_DEBUG_TOKEN'),
    SECRET_KEY_BASE: fromSecret('SECRET_KEY_BASE'),
    COLLECTOR_URL: setWhen(collector.enabled, collectorUrl),
    COLLECTOR_JWT_SECRET: setWhen(collector.enabled, fromSecret('COLLECTOR_JWT_SECRET')),
  }),
  ...databaseHealthProbes,
  resources: resourcesOf(web.resources),
  volumeMounts: [tmp.mount],
  securityContext: containerSecurity(PLATFORM_USER),
})
