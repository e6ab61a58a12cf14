import { k8s } from 'cdk8s-plus-28'
import { Construct } from 'constructs'
import type { BootstrapEnv } from '../services/tasks/env.ts'
import { env, podField } from './kit/env.ts'
import { platformImage, pullSecretOf, runs } from './kit/image.ts'
import { labels, selectorLabels } from './kit/labels.ts'
import { nameOf } from './kit/names.ts'
import { initResources } from './kit/resources.ts'
import { overridesSecret, platformSecret } from './kit/secret-keys.ts'
import { containerSecurity, PLATFORM_USER, podSecurity } from './kit/security.ts'
import { createServiceAccount, podDefaults } from './kit/workload.ts'
import { beforeBootstrap } from './secrets.ts'
import { any, isSet, pick, revision, sha256, shorten, text } from './template/operators.ts'
import { create, when } from './template/structure.ts'
import { values } from './values.ts'

const { collector, dbProxy, envVars, web } = values
const { existingSecret: _, ...overrides } = values.secrets

const hasOverrides = any(...Object.values(overrides).map(isSet))

/**
 * Fills the keys that the platform's Secret lacks, once for each change of the install. A Job and not a hook: `helm --wait`, a plain
 * `kubectl apply` and Argo CD all run it, and pods that come first wait for their keys.
 */
export class Bootstrap extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    createServiceAccount(this, 'bootstrap', beforeBootstrap)
    create(this, k8s.KubeRole, {
      metadata,
      rules: [
        {
          apiGroups: [''],
          resources: ['secrets'],
          resourceNames: [platformSecret],
          verbs: ['get', 'patch'],
        },
        {
          apiGroups: [''],
          resources: ['secrets'],
          resourceNames: [overridesSecret],
          verbs: ['get'],
        },
        {
          apiGroups: ['apps'],
          resources: ['deployments'],
          resourceNames: [
            nameOf('web'),
            nameOf('worker'),
            when<string>(collector.enabled, nameOf('collector')),
          ],
          verbs: ['get', 'patch'],
        },
      ],
    })
    create(this, k8s.KubeRoleBinding, {
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: nameOf('bootstrap') },
      subjects: [{ kind: 'ServiceAccount', name: nameOf('bootstrap') }],
    })
    create(this, k8s.KubeJob, {
      metadata: { name: jobName, labels: labels('bootstrap'), annotations: argoSync },
      spec: {
        backoffLimit: 10,
        activeDeadlineSeconds: 600,
        ttlSecondsAfterFinished: 600,
        template: {
          metadata: { labels: selectorLabels('bootstrap') },
          spec: {
            ...podDefaults('bootstrap', web),
            automountServiceAccountToken: true,
            restartPolicy: 'OnFailure',
            imagePullSecrets: pullSecretOf(platformImage),
            securityContext: podSecurity(PLATFORM_USER),
            containers: [task()],
          },
        },
      },
    })
  }
}

const metadata = {
  name: nameOf('bootstrap'),
  labels: labels('bootstrap'),
  annotations: beforeBootstrap,
}

// Helm and kubectl ignore these; Argo CD would otherwise report the Job as missing once its time to live is over.
const argoSync = {
  'argocd.argoproj.io/hook': 'Sync',
  'argocd.argoproj.io/hook-delete-policy': 'BeforeHookCreation',
  'argocd.argoproj.io/sync-wave': '-1',
}

// A Job cannot be changed: whatever changes its pods has to change its name.
const jobName = text`${nameOf('bootstrap')}-${revision}-${shorten(
  8,
  sha256(
    platformImage.reference,
    platformImage.pullPolicy,
    platformImage.pullSecret,
    collector.enabled,
    dbProxy.autoIamAuthn,
    envVars.LOG_LEVEL,
    web.nodeSelector,
    web.tolerations,
    web.priorityClassName,
    ...Object.values(overrides),
  ),
)}`

const task = () => ({
  name: 'bootstrap',
  ...runs(platformImage),
  command: ['node', 'build/tasks/main.js', 'secrets:bootstrap'],
  env: env<BootstrapEnv>({
    LOG_LEVEL: envVars.LOG_LEVEL,
    POD_NAMESPACE: podField('metadata.namespace'),
    PLATFORM_SECRET: platformSecret,
    PLATFORM_SECRET_OVERRIDES: pick(hasOverrides, overridesSecret, ''),
    PLATFORM_SECRET_KEYS: text`PLATFORM_DEBUG_TOKEN,SECRET_KEY_BASE${pick(
      collector.enabled,
      ',COLLECTOR_JWT_SECRET',
      '',
    )}${pick(dbProxy.autoIamAuthn, '', ',DB_PASSWORD')}`,
    RESTART_DEPLOYMENTS: text`${nameOf('web')},${nameOf('worker')}${pick(
      collector.enabled,
      text`,${nameOf('collector')}`,
      '',
    )}`,
  }),
  resources: initResources,
  securityContext: containerSecurity(PLATFORM_USER),
})
