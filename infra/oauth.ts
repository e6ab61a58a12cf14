import { Construct } from 'constructs'
import type { OauthEnv } from '../services/oauth/env.ts'
import { caMounts, caVolumes } from './kit/ca-bundle.ts'
import { mainContainer } from './kit/customize.ts'
import { databaseEnv } from './kit/database.ts'
import { env, setWhen, unset } from './kit/env.ts'
import { extraEnvVars, extraMounts, extraVolumes } from './kit/extras.ts'
import { platformImage, runs } from './kit/image.ts'
import { platformPod } from './kit/platform-pod.ts'
import { databaseHealthProbes } from './kit/probes.ts'
import { proxyEnv } from './kit/proxy.ts'
import { resourcesOf } from './kit/resources.ts'
import { replicasOf, scale } from './kit/scaling.ts'
import {
  fromSecret,
  noSecretKeyBase,
  oauthEncryptionKey,
  secretsChecksum,
} from './kit/secret-keys.ts'
import { containerSecurity, PLATFORM_USER } from './kit/security.ts'
import {
  accountAnnotations,
  createDeployment,
  createOpenService,
  createServiceAccount,
  scratch,
} from './kit/workload.ts'
import { digits, isSet } from './template/operators.ts'
import { values } from './values.ts'

const { oauth, envVars, outgoing } = values

/** Connects crews to the accounts of their users, and keeps the tokens, encrypted. */
export class Oauth extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    createServiceAccount(this, 'oauth', accountAnnotations(oauth))
    createOpenService(this, 'oauth', { given: oauth.service, port: oauth.port })
    createDeployment(this, {
      component: 'oauth',
      replicas: replicasOf(oauth),
      pods: oauth,
      metricsPort: oauth.metricsPort,
      annotations: {
        ...secretsChecksum(
          'PLATFORM_OAUTH_API_KEY',
          'OAUTH_ENCRYPTION_KEY',
          'OAUTH_ENCRYPTION_KEY_PREVIOUS',
          'DB_PASSWORD',
        ),
        ...extraEnvVars.checksum,
      },
      pod: {
        ...platformPod('oauth', { ...noSecretKeyBase, ...oauthEncryptionKey() }, oauth),
        terminationGracePeriodSeconds: oauth.terminationGracePeriodSeconds,
        containers: [mainContainer(oauth, server())],
        volumes: [tmp.volume, ...caVolumes(), ...extraVolumes()],
      },
    })
    scale(this, 'oauth', oauth)
  }
}

const tmp = scratch('/tmp')

const server = () => ({
  name: 'oauth',
  ...runs(platformImage),
  command: ['node', 'build/oauth/main.js'],
  ports: [
    { name: 'http', containerPort: oauth.port },
    { name: 'metrics', containerPort: oauth.metricsPort },
  ],
  envFrom: extraEnvVars.from(),
  env: env<OauthEnv>({
    ...databaseEnv('oauth'),
    PORT: digits(oauth.port),
    HOST: unset,
    METRICS_PORT: digits(oauth.metricsPort),
    LOG_LEVEL: envVars.LOG_LEVEL,
    ...proxyEnv(),
    OAUTH_PUBLIC_URL: oauth.publicUrl,
    OAUTH_PROVIDERS: setWhen(isSet(oauth.providersSecret), {
      valueFrom: { secretKeyRef: { name: oauth.providersSecret, key: 'OAUTH_PROVIDERS' } },
    }),
    CONNECTION_PRIVATE_ORIGINS: setWhen(
      isSet(outgoing.connectionPrivateOrigins),
      outgoing.connectionPrivateOrigins,
    ),
    OAUTH_ALLOW_HTTP: unset,
    PLATFORM_OAUTH_API_KEY: fromSecret('PLATFORM_OAUTH_API_KEY'),
    ...oauthEncryptionKey(),
  }),
  ...databaseHealthProbes,
  resources: resourcesOf(oauth.resources),
  volumeMounts: [tmp.mount, ...caMounts(), ...extraMounts()],
  securityContext: containerSecurity(PLATFORM_USER),
})
