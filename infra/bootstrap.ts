import * as k8s from './k8s.ts'
import { Construct } from 'constructs'
import type { BootstrapEnv } from '../services/tasks/env.ts'
import { isRegistryGated } from './calls.ts'
import { buildkitHost, buildTlsSecret, hasOwnBuildTls } from './build-tls.ts'
import { caMounts, caVolumes } from './kit/ca-bundle.ts'
import { databaseEnv } from './kit/database.ts'
import { dbProxySidecar } from './kit/db-proxy.ts'
import { env, podField, setWhen, unset } from './kit/env.ts'
import { databasePodPullSecrets, platformImage, runs } from './kit/image.ts'
import { argoSync, createJob } from './kit/job.ts'
import { labels } from './kit/labels.ts'
import { nameOf } from './kit/names.ts'
import { initResources } from './kit/resources.ts'
import {
  beforeBootstrap,
  fromSecret,
  isReferenced,
  keptSecret,
  overridesSecret,
  platformSecret,
  SECRET_KEYS,
  secretsChecksum,
} from './kit/secret-keys.ts'
import type { SecretKey } from './kit/secret-keys.ts'
import { containerSecurity, PLATFORM_USER, podSecurity } from './kit/security.ts'
import { createServiceAccount } from './kit/workload.ts'
import type { Val } from './template/expression.ts'
import { all, any, isSet, joined, not, orElse, pick, revision, text } from './template/operators.ts'
import type { Condition } from './template/operators.ts'
import { create, releaseNamespace } from './kit/create.ts'
import { noted, onlyWhen, when } from './template/structure.ts'
import { values } from './values.ts'

const { collector, dbProxy, envVars, oauth, postgres, rbac } = values
const { existingSecret, revision: _, ...overrides } = values.secrets

/** Holds while the Secret is the operator's own, which nothing here writes. */
const isForeign = isSet(existingSecret)

/** Holds unless the Secret is the operator's own and there is no right to read it. */
export const isBootstrapNeeded = any(not(isForeign), rbac.create)

/**
 * Fills the keys that the platform's Secret lacks, once for each change of the install, and
 * restarts what reads it when it has changed; a Secret of the operator's own is only read. Pods
 * that come before it wait for their keys.
 */
export class Bootstrap extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    createServiceAccount(this, 'bootstrap', beforeBootstrap)
    onlyWhen(rbac.create, new SecretAccess(this, 'access'))
    createJob(this, {
      component: 'bootstrap',
      // The revision too: a key that was deleted comes back with the next upgrade, even one that
      // changes nothing else.
      name: (content) => text`${nameOf('bootstrap')}-${revision}-${content}`,
      podAnnotations: secretsChecksum(...SECRET_KEYS),
      annotations: { ...argoSync, 'argocd.argoproj.io/sync-wave': '-1' },
      pod: pod(),
    })
  }
}

/** Rights on objects by their names; nothing is listed. */
class SecretAccess extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    const metadata = {
      name: nameOf('bootstrap'),
      labels: labels('bootstrap'),
      annotations: beforeBootstrap,
    }
    create(this, k8s.KubeRole, {
      metadata,
      rules: [
        when<k8s.PolicyRule>(isForeign, toSecret(existingSecret, ['get'])),
        when<k8s.PolicyRule>(not(isForeign), toSecret(platformSecret, ['get', 'patch'])),
        when<k8s.PolicyRule>(not(isForeign), toSecret(overridesSecret, ['get'])),
        when<k8s.PolicyRule>(hasOwnBuildTls, toSecret(buildTlsSecret, ['get', 'patch'])),
        noted(
          'An apply names what it creates, so that even this right ends at the name.',
          when<k8s.PolicyRule>(not(isForeign), toSecret(keptSecret, ['get', 'create', 'patch'])),
        ),
        {
          apiGroups: ['apps'],
          resources: ['deployments'],
          resourceNames: [
            nameOf('web'),
            nameOf('worker'),
            when<string>(oauth.enabled, nameOf('oauth')),
            when<string>(collector.enabled, nameOf('collector')),
            when<string>(isRegistryGated, nameOf('internal-registry')),
          ],
          verbs: ['get', 'patch'],
        },
        when<k8s.PolicyRule>(postgres.enabled, {
          apiGroups: ['apps'],
          resources: ['statefulsets'],
          resourceNames: [nameOf('postgres')],
          verbs: ['get', 'patch'],
        }),
      ],
    })
    create(this, k8s.KubeRoleBinding, {
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: nameOf('bootstrap') },
      subjects: [
        { kind: 'ServiceAccount', name: nameOf('bootstrap'), namespace: releaseNamespace },
      ],
    })
  }
}

const toSecret = (name: Val<string>, verbs: readonly string[]) => ({
  apiGroups: [''],
  resources: ['secrets'],
  resourceNames: [name],
  verbs,
})

const NEEDED: readonly (readonly [SecretKey, Condition?])[] = [
  ['PLATFORM_DEBUG_TOKEN'],
  ['SECRET_KEY_BASE'],
  ['PLATFORM_OAUTH_API_KEY', oauth.enabled],
  ['OAUTH_ENCRYPTION_KEY', oauth.enabled],
  ['COLLECTOR_JWT_SECRET', collector.enabled],
  ['REGISTRY_KEY', isRegistryGated],
  ['DB_PASSWORD', not(dbProxy.autoIamAuthn)],
]

/** The keys that must have a value, but those in Secrets of the operator's own. */
const generatedKeys = joined(
  ',',
  NEEDED.map(([key, isNeeded]) =>
    pick(all(...(isNeeded ? [isNeeded] : []), not(isReferenced(key))), key, ''),
  ),
)

const pod = () => ({
  automountServiceAccountToken: true,
  imagePullSecrets: databasePodPullSecrets(platformImage),
  securityContext: podSecurity(PLATFORM_USER),
  initContainers: dbProxySidecar(),
  volumes: caVolumes(),
  containers: [
    {
      name: 'bootstrap',
      ...runs(platformImage),
      command: [
        'node',
        'build/tasks/main.js',
        pick(isForeign, 'secrets:follow', 'secrets:bootstrap'),
      ],
      env: env<BootstrapEnv>({
        LOG_LEVEL: envVars.LOG_LEVEL,
        POD_NAMESPACE: podField('metadata.namespace'),
        PLATFORM_SECRET: orElse(existingSecret, platformSecret),
        PLATFORM_SECRET_KEPT: keptSecret,
        PLATFORM_SECRET_OVERRIDES: setWhen(
          any(...Object.values(overrides).map(isSet)),
          overridesSecret,
        ),
        PLATFORM_SECRET_KEYS: generatedKeys,
        RESTART_DEPLOYMENTS: joined(',', [
          nameOf('web'),
          nameOf('worker'),
          pick(oauth.enabled, nameOf('oauth'), ''),
          pick(collector.enabled, nameOf('collector'), ''),
          pick(isRegistryGated, nameOf('internal-registry'), ''),
        ]),
        ...databaseEnv('bootstrap'),
        // It is in the Secrets that this task reads, unless the operator names another one.
        DB_PASSWORD: setWhen(isReferenced('DB_PASSWORD'), fromSecret('DB_PASSWORD')),
        DATABASE_WAIT_SECONDS: unset,
        BUILD_TLS_SECRET: setWhen(hasOwnBuildTls, buildTlsSecret),
        BUILD_TLS_HOST: setWhen(hasOwnBuildTls, buildkitHost),
        RESTART_POSTGRES: setWhen(postgres.enabled, nameOf('postgres')),
      }),
      resources: initResources(),
      volumeMounts: [...caMounts()],
      securityContext: containerSecurity(PLATFORM_USER),
    },
  ],
})
