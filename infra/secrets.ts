import * as k8s from './k8s.ts'
import { Construct } from 'constructs'
import { BuildTls, hasOwnBuildTls } from './build-tls.ts'
import type { Val } from './template/expression.ts'
import { any, isSet, not } from './template/operators.ts'
import { create } from './kit/create.ts'
import { onlyWhen, spread, whenSet } from './template/structure.ts'
import { labels } from './kit/labels.ts'
import { beforeBootstrap, overridesSecret, platformSecret } from './kit/secret-keys.ts'
import { extraEnvVars } from './kit/extras.ts'
import { values } from './values.ts'

const { existingSecret, revision: _, ...overrides } = values.secrets

/**
 * The objects that pods read: the platform's Secret, and the operator's own values and variables.
 */
export class Secrets extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    onlyWhen(not(isSet(existingSecret)), new PlatformSecret(this, 'platform'))
    onlyWhen(any(...Object.values(overrides).map(isSet)), new Overrides(this, 'overrides'))
    onlyWhen(hasOwnBuildTls, new BuildTls(this, 'build-tls'))
    onlyWhen(isSet(values.extraEnvVars), new ExtraEnv(this, 'extra-env'))
  }
}

/**
 * An empty Secret that the bootstrap Job fills. No manifest has its keys, so that neither an apply
 * nor an upgrade nor a sync removes them, and it stays after the release.
 */
class PlatformSecret extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    create(this, k8s.KubeSecret, {
      metadata: {
        name: platformSecret,
        labels: labels('secrets'),
        annotations: {
          'helm.sh/resource-policy': 'keep',
          'argocd.argoproj.io/sync-options': 'Prune=false',
          ...beforeBootstrap,
        },
      },
      type: 'Opaque',
    })
  }
}

/** Exactly the values that the operator sets. */
class Overrides extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    const entries = Object.entries<Val<string>>(overrides)
    create(this, k8s.KubeSecret, {
      metadata: { name: overridesSecret, labels: labels('secrets'), annotations: beforeBootstrap },
      type: 'Opaque',
      stringData: Object.fromEntries(entries.map(([key, value]) => [key, whenSet(value)])),
    })
  }
}

class ExtraEnv extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    create(this, k8s.KubeConfigMap, {
      metadata: { name: extraEnvVars.name, labels: labels('extra-env') },
      data: spread(values.extraEnvVars),
    })
  }
}
