import assert from 'node:assert/strict'
import { words } from '../bed/words.ts'
import { helm, kubectl } from './cluster.ts'
import { gitops } from './gitops.ts'
import { MANIFESTS, manifests, withManifests } from './manifests.ts'
import { crewsOf, NAMESPACE } from './step.ts'
import type { Step } from './step.ts'

const KINDS =
  'deployments,statefulsets,jobs,pods,services,secrets,configmaps,persistentvolumeclaims,' +
  'networkpolicies,roles,rolebindings,serviceaccounts'
/** What every namespace has, and what the walk itself put there. */
const GIVEN = ['configmap/kube-root-ca.crt', 'serviceaccount/default', 'secret/model-key']

/** The names of what is left in a namespace, and of the namespace of its crews. */
async function leftIn(namespace: string): Promise<readonly string[]> {
  const names = await kubectl(words`get ${KINDS} -n ${namespace} -o name`)
  const crews = await kubectl(words`get namespace ${crewsOf(namespace)} --ignore-not-found -o name`)
  return [...names.split('\n'), crews.trim()].filter((name) => name && !GIVEN.includes(name))
}

/** What the README's section on uninstalling has after the release itself is gone. */
async function removeTheRest(namespace: string): Promise<void> {
  await kubectl(words`delete namespaces -l platform/home=${namespace} --ignore-not-found`)
  await kubectl(
    words`delete pods,persistentvolumeclaims -n ${namespace}
      -l app.kubernetes.io/instance=platform`,
  )
  await kubectl(
    words`delete secrets platform-secrets platform-keys -n ${namespace} --ignore-not-found`,
  )
  await kubectl(words`wait --for=delete pods --all -n ${namespace} --timeout=5m`)
}

export const removal: readonly Step[] = [
  {
    name: 'uninstall',
    sentence: 'helm uninstall and the commands of the README leave nothing behind',
    isShort: true,
    async run() {
      await helm(words`uninstall platform -n ${NAMESPACE} --wait --timeout 10m`)
      await removeTheRest(NAMESPACE)
      assert.deepEqual(await leftIn(NAMESPACE), [])
      await kubectl(words`delete namespace ${NAMESPACE} --wait`)
      return 'nothing is left'
    },
  },
  ...manifests,
  ...gitops,
  {
    name: 'manifests-deleted',
    sentence:
      'kubectl delete of the plain manifests and the commands of the README leave nothing behind',
    async run() {
      await withManifests((directory) =>
        kubectl(words`delete -f ${directory} --ignore-not-found --wait`),
      )
      await removeTheRest(MANIFESTS)
      assert.deepEqual(await leftIn(MANIFESTS), [])
      await kubectl(words`delete namespace ${MANIFESTS} --wait`)
      return 'nothing is left'
    },
  },
]
