import * as k8s from './k8s.ts'
import { Construct } from 'constructs'
import { choose, podField } from './kit/env.ts'
import { labels } from './kit/labels.ts'
import { nameOf } from './kit/names.ts'
import type { Val } from './template/expression.ts'
import { all, any, builtIn, isSet, not, text } from './template/operators.ts'
import { create, onlyWhen } from './template/structure.ts'
import type { Exactly } from './template/structure.ts'
import { values } from './values.ts'

const { crews } = values

/** What one component may do, under the name of its Role. */
export interface Grant {
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

/** A right in the namespace of the release. */
export class AccessAtHome extends Construct {
  constructor(scope: Construct, id: string, { name, component, rules }: Grant) {
    super(scope, id)
    const metadata = { name: nameOf(name), labels: labels(component) }
    create(this, k8s.KubeRole, { metadata, rules })
    create(this, k8s.KubeRoleBinding, {
      metadata,
      roleRef: roleRef('Role', metadata.name),
      // Without a namespace it is that of the binding, so that the manifests fit into any.
      subjects: [{ kind: 'ServiceAccount', name: nameOf(component) }],
    })
  }
}

/** The namespace of the crews, or with isolation the beginning of its name (SPEC 7). */
export const crewNamespace = choose(
  isSet(crews.namespace),
  crews.namespace,
  podField('metadata.namespace'),
)

const isElsewhere = isSet(crews.namespace)

/** Whether the crews run in the namespace of the release. */
export const runAtHome = not(any(isElsewhere, crews.namespaceIsolation))

/** A right where the crews run, if that is not the namespace of the release. */
export class AccessToCrews extends Construct {
  constructor(scope: Construct, id: string, grant: Grant) {
    super(scope, id)
    onlyWhen(all(isElsewhere, not(crews.namespaceIsolation)), new CrewNamespace(this, 'one', grant))
    onlyWhen(crews.namespaceIsolation, new AccessEverywhere(this, 'all', grant))
  }
}

const fromElsewhere = (component: string) => ({
  kind: 'ServiceAccount',
  name: nameOf(component),
  namespace: builtIn('Release.Namespace'),
})

class CrewNamespace extends Construct {
  constructor(scope: Construct, id: string, { name, component, rules }: Grant) {
    super(scope, id)
    const metadata = {
      name: nameOf(name),
      namespace: crews.namespace,
      labels: labels(component),
    }
    create(this, k8s.KubeRole, { metadata, rules })
    create(this, k8s.KubeRoleBinding, {
      metadata,
      roleRef: roleRef('Role', metadata.name),
      subjects: [fromElsewhere(component)],
    })
  }
}

/** With a namespace for each organization, those are meant that nobody can name yet. */
export class AccessEverywhere extends Construct {
  constructor(scope: Construct, id: string, { name, component, rules }: Grant) {
    super(scope, id)
    const metadata = {
      name: text`${builtIn('Release.Namespace')}-${nameOf(name)}`,
      labels: labels(component),
    }
    create(this, k8s.KubeClusterRole, { metadata, rules })
    create(this, k8s.KubeClusterRoleBinding, {
      metadata,
      roleRef: roleRef('ClusterRole', metadata.name),
      subjects: [fromElsewhere(component)],
    })
  }
}
