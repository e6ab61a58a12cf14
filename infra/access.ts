import * as k8s from './k8s.ts'
import { Construct } from 'constructs'
import { create, createInCluster, releaseNamespace } from './kit/create.ts'
import { labels } from './kit/labels.ts'
import { nameOf } from './kit/names.ts'
import type { Val } from './template/expression.ts'
import { helper } from './template/named.ts'
import { all, isSet, not, orElse, text } from './template/operators.ts'
import { onlyWhen } from './template/structure.ts'
import type { Exactly } from './template/structure.ts'
import { values } from './values.ts'

const { crews } = values

/** The rights of one component, under the name of its Role. */
interface Grant {
  readonly name: string
  readonly component: string
  readonly rules: Exactly<k8s.KubeRoleProps>['rules']
}

const API_GROUP = 'rbac.authorization.k8s.io'

const roleRef = (kind: 'Role' | 'ClusterRole', name: Val<string>) => ({
  apiGroup: API_GROUP,
  kind,
  name,
})

const accountOf = (component: string) => ({
  kind: 'ServiceAccount',
  name: nameOf(component),
  namespace: releaseNamespace,
})

/** A right in one namespace. */
class Access extends Construct {
  constructor(
    scope: Construct,
    id: string,
    { name, component, rules, namespace }: Grant & { readonly namespace: Val<string> },
  ) {
    super(scope, id)
    const metadata = { name: nameOf(name), namespace, labels: labels(component) }
    create(this, k8s.KubeRole, { metadata, rules })
    create(this, k8s.KubeRoleBinding, {
      metadata,
      roleRef: roleRef('Role', metadata.name),
      subjects: [accountOf(component)],
    })
  }
}

/** A right in the namespace of the release. */
export class AccessToRelease extends Access {
  constructor(scope: Construct, id: string, grant: Grant) {
    super(scope, id, { ...grant, namespace: releaseNamespace })
  }
}

/**
 * The namespace of the crews, or with isolation the beginning of its name (SPEC 7). One of their
 * own: whoever may make pods in a namespace can read every Secret there.
 */
export const crewNamespace = helper(
  {
    name: 'platform.crewNamespace',
    comment: 'The namespace of the crews: crews.namespace, or one beside that of the release.',
  },
  orElse(crews.namespace, text`${releaseNamespace}-crews`),
)

/** Holds while the namespace of the crews is created and deleted with the release. */
const isCrewNamespaceOurs = all(not(isSet(crews.namespace)), not(crews.namespaceIsolation))

/** The namespace of the crews, where only pods run that pass Pod Security "restricted". */
export class CrewNamespace extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    onlyWhen(isCrewNamespaceOurs, this)
    createInCluster(this, k8s.KubeNamespace, {
      metadata: {
        name: crewNamespace,
        labels: { ...labels('crews'), 'pod-security.kubernetes.io/enforce': 'restricted' },
      },
    })
  }
}

/** A right where the crews run. */
export class AccessToCrews extends Construct {
  constructor(scope: Construct, id: string, grant: Grant) {
    super(scope, id)
    const one = new Access(this, 'one', { ...grant, namespace: crewNamespace })
    onlyWhen(not(crews.namespaceIsolation), one)
    onlyWhen(crews.namespaceIsolation, new AccessEverywhere(this, 'all', grant))
  }
}

/**
 * The name of an object that is in no namespace. No namespace has a dot, so that two releases never
 * share one.
 */
export const clusterName = (name: string): Val<string> => text`${releaseNamespace}.${nameOf(name)}`

/** A right in all namespaces: with one for each organization, most have no name yet. */
export class AccessEverywhere extends Construct {
  constructor(scope: Construct, id: string, { name, component, rules }: Grant) {
    super(scope, id)
    const metadata = { name: clusterName(name), labels: labels(component) }
    createInCluster(this, k8s.KubeClusterRole, { metadata, rules })
    createInCluster(this, k8s.KubeClusterRoleBinding, {
      metadata,
      roleRef: roleRef('ClusterRole', metadata.name),
      subjects: [accountOf(component)],
    })
  }
}
