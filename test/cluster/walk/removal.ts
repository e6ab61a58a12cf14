import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { words } from '../bed/words.ts'
import { command } from '../bed/command.ts'
import { repository } from '../bed/places.ts'
import { helm, kubectl, rolledOut, tryKubectl, valuesFile } from './cluster.ts'
import { freshNamespace, podsAreReady, runLeavesSpans } from './installation.ts'
import { isWell } from './platform.ts'
import { NAMESPACE } from './step.ts'
import type { Step } from './step.ts'

const MANIFESTS = 'platform-manifests'

/** The names of what is left in a namespace, without what every namespace has. */
async function leftIn(namespace: string): Promise<readonly string[]> {
  const kinds =
    'deployments,statefulsets,jobs,pods,services,secrets,configmaps,persistentvolumeclaims'
  const names = await kubectl(words`get ${kinds} -n ${namespace} -o name`)
  const ours = ['configmap/kube-root-ca.crt', 'secret/model-key']
  return names.split('\n').filter((name) => name !== '' && !ours.includes(name))
}

/** What the README's section on uninstalling has after the release itself is gone. */
async function removeTheRest(namespace: string): Promise<void> {
  await kubectl(words`delete namespaces -l platform/home=${namespace} --ignore-not-found`)
  await kubectl(
    words`delete pods,persistentvolumeclaims -n ${namespace} -l app.kubernetes.io/instance=platform`,
  )
  await kubectl(words`delete secrets platform-secrets platform-keys -n ${namespace}`)
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
  {
    name: 'manifests',
    sentence:
      'kubectl apply of the plain manifests installs the same platform, and again changes nothing',
    async run() {
      const out = mkdtempSync(join(tmpdir(), 'manifests-'))
      await command(
        words`npm run --silent synth -- --values ${valuesFile}
        --namespace ${MANIFESTS} --out ${out}`,
        {
          cwd: repository,
        },
      )
      await freshNamespace(MANIFESTS)
      try {
        await kubectl(words`apply -f ${out}`)
        await rolledOut(MANIFESTS)
        await isWell(MANIFESTS)
        await podsAreReady(MANIFESTS)
        await runLeavesSpans(MANIFESTS)
        const again = await kubectl(words`apply -f ${out}`)
        const lines = again.trim().split('\n')
        assert.deepEqual(
          lines.filter((line) => !line.endsWith(' unchanged')),
          [],
        )
        assert.equal((await tryKubectl(words`diff -f ${out}`)).code, 0)
        await kubectl(words`apply --server-side -f ${out}`)
        return `${lines.length} objects`
      } finally {
        rmSync(out, { recursive: true })
      }
    },
  },
  {
    name: 'delete-manifests',
    sentence: 'the namespace of the plain manifests goes with everything in it',
    async run() {
      await kubectl(words`delete namespace ${MANIFESTS} --wait`)
      return 'gone'
    },
  },
]
