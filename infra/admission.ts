import * as k8s from './k8s.ts'
import { Construct } from 'constructs'
import { clusterName, crewNamespace } from './access.ts'
import { createInCluster, releaseNamespace } from './kit/create.ts'
import { labels } from './kit/labels.ts'
import { nameOf } from './kit/names.ts'
import type { Val } from './template/expression.ts'
import { any, text } from './template/operators.ts'
import { onlyWhen } from './template/structure.ts'
import { values } from './values.ts'

const HOME = 'platform/home'
const ENFORCED = 'pod-security.kubernetes.io/enforce'

const account = (component: string) =>
  text`'system:serviceaccount:${releaseNamespace}:${nameOf(component)}'`

const accounts = text`${account('worker')}, ${account('crews')}`

/** In CEL: an object has a label with this value. */
function hasLabel(object: string, label: string, value: Val<string> | string): Val<string> {
  const given = `${object}.metadata.labels`
  return text`has(${given}) && '${label}' in ${given} && ${given}['${label}'] == '${value}'`
}

const isNamespace = "request.resource.group == '' && request.resource.resource == 'namespaces'"
const isOurs = hasLabel('object', HOME, releaseNamespace)
const wasOurs = hasLabel('oldObject', HOME, releaseNamespace)
const isInOurs = hasLabel('namespaceObject', HOME, releaseNamespace)
const isRestricted = hasLabel('object', ENFORCED, 'restricted')
const isLabelled = text`${isOurs} && ${isRestricted}`
const isName = text`object.metadata.name.startsWith('${crewNamespace}-org-')`
const isWrite = "request.operation != 'DELETE'"
const isHome = text`request.namespace == '${releaseNamespace}'`
const isBase = text`request.namespace == '${crewNamespace}'`
const isSamePod =
  "request.operation == 'UPDATE' && object.spec.template.spec == oldObject.spec.template.spec"

/** The rules, each with what a refusal says. */
const RULES = [
  {
    expression: text`!(${isNamespace}) || (${isWrite} && ${isName} && ${isLabelled})`,
    message: text`Namespaces are ${crewNamespace}-org-<id>, with ${HOME} and ${ENFORCED}.`,
  },
  {
    expression: text`!(${isNamespace}) || request.operation != 'UPDATE' || (${wasOurs})`,
    message: text`A namespace that was there before needs the label ${HOME}=${releaseNamespace}.`,
  },
  {
    expression: text`${isNamespace} || ${isHome} || ${isBase} || (${isInOurs})`,
    message: text`Objects are in namespaces with the label ${HOME}=${releaseNamespace} only.`,
  },
  {
    expression: text`!(${isHome}) || ${isBase} || request.operation == 'DELETE' || (${isSamePod})`,
    message: 'Programs of the release stay as they are.',
  },
]

/**
 * Holds workers and the crews' Job to the namespaces of organizations, which no Role can name: they
 * have rights in all namespaces, and this refuses what they write elsewhere, and any namespace
 * without Pod Security.
 */
export class CrewBorder extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    onlyWhen(any(values.crews.namespaceIsolation, values.rbac.admissionPolicy), this)
    const metadata = { name: clusterName('crew-border'), labels: labels('crews') }
    createInCluster(this, k8s.KubeValidatingAdmissionPolicy, {
      metadata,
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: {
          matchPolicy: 'Equivalent',
          resourceRules: [written('*/*', 'Namespaced'), written('namespaces', 'Cluster')],
        },
        matchConditions: [
          {
            name: 'is-of-the-platform',
            expression: text`request.userInfo.username in [${accounts}]`,
          },
        ],
        validations: RULES,
      },
    })
    createInCluster(this, k8s.KubeValidatingAdmissionPolicyBinding, {
      metadata,
      spec: { policyName: metadata.name, validationActions: ['Deny'] },
    })
  }
}

const written = (resource: string, scope: 'Namespaced' | 'Cluster') => ({
  apiGroups: [scope === 'Cluster' ? '' : '*'],
  apiVersions: ['*'],
  operations: ['CREATE', 'UPDATE', 'DELETE', 'CONNECT'],
  resources: [resource],
  scope,
})
