import { k8s } from 'cdk8s-plus-28'
import { Construct } from 'constructs'
import { labels } from './kit/labels.ts'
import { nameOf } from './kit/names.ts'
import { all, builtIn, isSet, not, text } from './template/operators.ts'
import { create, onlyWhen } from './template/structure.ts'
import { values } from './values.ts'

const { crews } = values

const API_GROUP = 'rbac.authorization.k8s.io'
const readDeployments = [
  { apiGroups: ['apps'], resources: ['deployments'], verbs: ['get', 'list'] },
]

/** Lets the diagnostic probe of web read Deployments: those of the platform, and those of the crews (SPEC 7). */
export class DiagnosticAccess extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    new InstallNamespace(this, 'platform')
    const isElsewhere = all(isSet(crews.namespace), not(crews.namespaceIsolation))
    onlyWhen(isElsewhere, new CrewNamespace(this, 'crews'))
    onlyWhen(crews.namespaceIsolation, new AllNamespaces(this, 'all-crews'))
  }
}

class InstallNamespace extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    const metadata = { name: nameOf('platform-health'), labels: labels('web') }
    create(this, k8s.KubeRole, { metadata, rules: readDeployments })
    create(this, k8s.KubeRoleBinding, {
      metadata,
      roleRef: { apiGroup: API_GROUP, kind: 'Role', name: metadata.name },
      // Without a namespace it is that of the binding, so that the manifests fit into any.
      subjects: [{ kind: 'ServiceAccount', name: nameOf('web') }],
    })
  }
}

const webFromElsewhere = {
  kind: 'ServiceAccount',
  name: nameOf('web'),
  namespace: builtIn('Release.Namespace'),
}

class CrewNamespace extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    const metadata = {
      name: nameOf('crew-health'),
      namespace: crews.namespace,
      labels: labels('web'),
    }
    create(this, k8s.KubeRole, { metadata, rules: readDeployments })
    create(this, k8s.KubeRoleBinding, {
      metadata,
      roleRef: { apiGroup: API_GROUP, kind: 'Role', name: metadata.name },
      subjects: [webFromElsewhere],
    })
  }
}

/** With a namespace for each organization, the probe reads namespaces that nobody can name yet. */
class AllNamespaces extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    const metadata = {
      name: text`${builtIn('Release.Namespace')}-${nameOf('crew-health')}`,
      labels: labels('web'),
    }
    create(this, k8s.KubeClusterRole, { metadata, rules: readDeployments })
    create(this, k8s.KubeClusterRoleBinding, {
      metadata,
      roleRef: { apiGroup: API_GROUP, kind: 'ClusterRole', name: metadata.name },
      subjects: [webFromElsewhere],
    })
  }
}
