import { Construct } from 'constructs'
import { crewSettingsEnv } from './crews-from-source.ts'
import type { WebEnv } from '../services/web/env.ts'
import { CrewBorder } from './admission.ts'
import { AccessToRelease, AccessToCrews, CrewNamespace, crewNamespace } from './access.ts'
import { addressOf, collectorInCluster } from './calls.ts'
import { platformPrices, readsPrices } from './collector-prices.ts'
import { signInEnv } from './identity-provider.ts'
import { caMounts, caVolumes } from './kit/ca-bundle.ts'
import { mainContainer } from './kit/customize.ts'
import { databaseEnv } from './kit/database.ts'
import { env, podField, setWhen, unset } from './kit/env.ts'
import { extraEnvVars, extraMounts, extraVolumes } from './kit/extras.ts'
import { platformImage, platformVersion, runs } from './kit/image.ts'
import { fullName, release } from './kit/names.ts'
import { platformPod } from './kit/platform-pod.ts'
import { reachableProbes } from './kit/probes.ts'
import { proxyEnv } from './kit/proxy.ts'
import { resourcesOf } from './kit/resources.ts'
import {
  fromSecret,
  noOauthEncryptionKey,
  secretKeyBase,
  secretsChecksum,
} from './kit/secret-keys.ts'
import { containerSecurity, PLATFORM_USER } from './kit/security.ts'
import { replicasOf, scale } from './kit/scaling.ts'
import {
  accountAnnotations,
  createDeployment,
  createOpenService,
  createServiceAccount,
  scratch,
} from './kit/workload.ts'
import {
  all,
  amountText,
  any,
  asText,
  digits,
  equals,
  isSet,
  joined,
  orElse,
  pick,
} from './template/operators.ts'
import { helper } from './template/named.ts'
import { noted, onlyWhen } from './template/structure.ts'
import { values } from './values.ts'

const { buildkit, collector, envVars, httpRoute, ingress, internalRegistry, oauth } = values
const { auth, limits, mail, outgoing, postgres, rbac, tools, web } = values

/** The user interface and the automation API, with the diagnostic probe. */
export class Web extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    createServiceAccount(this, 'web', accountAnnotations(web))
    // With web, because the first Role in it is that of the probe.
    new CrewNamespace(this, 'crew-namespace')
    new CrewBorder(this, 'crew-border')
    onlyWhen(rbac.create, new DiagnosticAccess(this, 'access'))
    createOpenService(this, 'web', { given: web.service, port: web.servicePort })
    createDeployment(this, {
      component: 'web',
      replicas: replicasOf(web),
      pods: web,
      metricsPort: web.metricsPort,
      annotations: {
        ...secretsChecksum(
          'PLATFORM_DEBUG_TOKEN',
          'SECRET_KEY_BASE',
          'SECRET_KEY_BASE_PREVIOUS',
          'PLATFORM_OAUTH_API_KEY',
          'COLLECTOR_JWT_SECRET',
          'OIDC_CLIENT_SECRET',
          'DB_PASSWORD',
        ),
        ...extraEnvVars.checksum,
        ...platformPrices.annotations,
      },
      pod: {
        ...platformPod('web', { ...secretKeyBase(), ...noOauthEncryptionKey }, web),
        terminationGracePeriodSeconds: web.terminationGracePeriodSeconds,
        automountServiceAccountToken: noted('The diagnostic probe reads Deployments.', true),
        containers: [mainContainer(web, server())],
        volumes: [tmp.volume, platformPrices.volume, ...caVolumes(), ...extraVolumes()],
      },
    })
    scale(this, 'web', web)
  }
}

/** Deployments, and their pods, whose status explains why a Deployment is not ready. */
const readDeployments = [
  { apiGroups: ['apps'], resources: ['deployments'], verbs: ['get', 'list'] },
  { apiGroups: [''], resources: ['pods'], verbs: ['list'] },
]

/** Rights of the diagnostic probe: Deployments and pods of the platform and of crews (SPEC 7). */
class DiagnosticAccess extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    const grant = { component: 'web', rules: readDeployments }
    new AccessToRelease(this, 'platform', { ...grant, name: 'platform-health' })
    new AccessToCrews(this, 'crews', { ...grant, name: 'crew-health' })
  }
}

/** The archives of sources are there while they are read, two at a time. */
const tmp = scratch('/tmp', '256Mi')

const proxies = asText(web.trustedProxies)

/** An ingress controller or a gateway is a proxy: without it all clients would be one address. */
const trustedProxies = helper(
  {
    name: 'platform.trustedProxies',
    comment: 'The proxies before web: as the values say, or one where the chart makes a route.',
  },
  pick(equals(proxies, ''), pick(any(ingress.enabled, httpRoute.enabled), '1', '0'), proxies),
)

const OPTIONAL = [
  [oauth.enabled, 'oauth'],
  [buildkit.enabled, 'buildkit'],
  [collector.enabled, 'collector'],
  [internalRegistry.enabled, 'internal-registry'],
] as const

/** The Deployments that the diagnostic report expects. */
const deployed = joined(',', [
  'web',
  'worker',
  ...OPTIONAL.map(([isDeployed, name]) => pick(isDeployed, name, '')),
])

const upstreamSignsIn = all(isSet(tools.upstream), isSet(tools.upstreamSecret))
const upstreamKey = (key: string, whether: { optional?: boolean } = {}) => ({
  valueFrom: { secretKeyRef: { name: tools.upstreamSecret, key, ...whether } },
})

/** The public index behind those of organizations. */
const upstreamEnv = {
  TOOLS_UPSTREAM: setWhen(isSet(tools.upstream), tools.upstream),
  TOOLS_UPSTREAM_USERNAME: setWhen(upstreamSignsIn, upstreamKey('username', { optional: true })),
  TOOLS_UPSTREAM_PASSWORD: setWhen(upstreamSignsIn, upstreamKey('password')),
  TOOLS_UPSTREAM_PRIVATE_ORIGINS: setWhen(
    isSet(outgoing.indexPrivateOrigins),
    outgoing.indexPrivateOrigins,
  ),
  TOOLS_UPSTREAM_CACHE_MAX: setWhen(isSet(tools.upstream), amountText(tools.upstreamStorage)),
}

const limitsEnv = {
  TOKEN_CALLS_PER_MINUTE: digits(limits.tokenCallsPerMinute),
  ORGANIZATION_CALLS_PER_MINUTE: digits(limits.organizationCallsPerMinute),
  QUEUED_RUNS_MAX: digits(limits.queuedRuns),
}

const mailEnv = {
  SMTP_URL: setWhen(isSet(mail.smtpSecret), {
    valueFrom: { secretKeyRef: { name: mail.smtpSecret, key: 'SMTP_URL' } },
  }),
  SMTP_FROM: setWhen(all(isSet(mail.smtpSecret), isSet(mail.from)), mail.from),
}

const collectorEnv = {
  COLLECTOR_PRICES_FILE: setWhen(readsPrices, platformPrices.path),
  COLLECTOR_URL: setWhen(collector.enabled, addressOf({ from: 'web', to: 'collector' })),
  COLLECTOR_JWT_SECRET: setWhen(collector.enabled, fromSecret('COLLECTOR_JWT_SECRET')),
  COLLECTOR_PUBLIC_URL: setWhen(collector.enabled, orElse(collector.publicUrl, collectorInCluster)),
}

const ports = [
  { name: 'http', containerPort: web.port },
  { name: 'metrics', containerPort: web.metricsPort },
]

const server = () => ({
  name: 'web',
  ...runs(platformImage),
  command: ['node', 'build/web/main.js'],
  ports,
  envFrom: extraEnvVars.from(),
  env: env<WebEnv>({
    ...databaseEnv('web'),
    DB_VOLUME_SIZE: setWhen(postgres.enabled, amountText(postgres.storage.size)),
    PORT: digits(web.port),
    HOST: unset,
    CREW_PROCESSES: unset,
    METRICS_PORT: digits(web.metricsPort),
    LOG_LEVEL: envVars.LOG_LEVEL,
    ...proxyEnv(),
    ...limitsEnv,
    ...mailEnv,
    PLATFORM_SELF_HOSTED: 'true',
    PLATFORM_PROVIDER: envVars.PLATFORM_PROVIDER,
    PLATFORM_VERSION: platformVersion,
    PLATFORM_BASE_URL: envVars.PLATFORM_BASE_URL,
    PLATFORM_API_PREFIX: envVars.PLATFORM_API_PREFIX,
    PLATFORM_DEBUG_TOKEN: fromSecret('PLATFORM_DEBUG_TOKEN'),
    ...secretKeyBase(),
    TRUSTED_PROXIES: trustedProxies,
    MODEL_RETIREMENTS: setWhen(isSet(web.modelRetirements), web.modelRetirements),
    STATIC_TOKEN_DAYS_MAX: digits(auth.staticTokenDaysMax),
    ...signInEnv,
    AUTOMATION_OAUTH_STALE_HOURS: digits(outgoing.oauthStaleHours),
    LLM_PRIVATE_ORIGINS: setWhen(isSet(outgoing.llmPrivateOrigins), outgoing.llmPrivateOrigins),
    WEBHOOK_PRIVATE_ORIGINS: setWhen(
      isSet(outgoing.webhookPrivateOrigins),
      outgoing.webhookPrivateOrigins,
    ),
    TOOL_PRIVATE_ORIGINS: setWhen(isSet(outgoing.toolPrivateOrigins), outgoing.toolPrivateOrigins),
    AUTOMATION_OAUTH_PRIVATE_ORIGINS: setWhen(
      isSet(outgoing.oauthPrivateOrigins),
      outgoing.oauthPrivateOrigins,
    ),
    RELEASE_NAME: release,
    RELEASE_FULLNAME: fullName,
    PLATFORM_DEPLOYMENTS: deployed,
    POD_NAME: podField('metadata.name'),
    POD_NAMESPACE: podField('metadata.namespace'),
    K8S_NAMESPACE: crewNamespace,
    PLATFORM_OAUTH_API_BASE_URL: setWhen(oauth.enabled, addressOf({ from: 'web', to: 'oauth' })),
    PLATFORM_OAUTH_API_KEY: setWhen(oauth.enabled, fromSecret('PLATFORM_OAUTH_API_KEY')),
    ...crewSettingsEnv,
    ...upstreamEnv,
    ...collectorEnv,
  }),
  ...reachableProbes,
  resources: resourcesOf(web.resources),
  volumeMounts: [tmp.mount, platformPrices.mount, ...caMounts(), ...extraMounts()],
  securityContext: containerSecurity(PLATFORM_USER),
})
