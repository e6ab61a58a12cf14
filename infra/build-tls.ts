import * as k8s from './k8s.ts'
import { Construct } from 'constructs'
import { create, releaseNamespace } from './kit/create.ts'
import { labels } from './kit/labels.ts'
import { nameOf } from './kit/names.ts'
import { beforeBootstrap } from './kit/secret-keys.ts'
import { all, isSet, not, orElse, text } from './template/operators.ts'
import { values } from './values.ts'

const { buildkit, crews, rbac } = values

/** Holds while the bootstrap makes the certificates of builds. */
export const hasOwnBuildTls = all(
  buildkit.enabled,
  crews.fromSource,
  rbac.create,
  not(isSet(buildkit.tlsSecret)),
)

/** The Secret with the certificates that the bootstrap makes. */
export const buildTlsSecret = nameOf('build-tls')

/** The Secret with the certificates of builds: the operator's own, or that of the bootstrap. */
export const tlsSecret = orElse(buildkit.tlsSecret, buildTlsSecret)

/** The host of BuildKit for pods of any namespace. */
export const buildkitHost = text`${nameOf('buildkit')}.${releaseNamespace}`

/** An empty Secret that the bootstrap fills; it goes with the release. */
export class BuildTls extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    create(this, k8s.KubeSecret, {
      metadata: {
        name: buildTlsSecret,
        labels: labels('buildkit'),
        annotations: {
          'argocd.argoproj.io/sync-options': 'Prune=false',
          ...beforeBootstrap,
        },
      },
      type: 'Opaque',
    })
  }
}
