import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { words } from '../bed/words.ts'
import { kubectl, read, rolledOut, tryKubectl } from './cluster.ts'
import { freshNamespace, runLeavesSpans } from './installation.ts'
import { MANIFESTS, withManifests } from './manifests.ts'
import { isWell } from './platform.ts'
import type { Step } from './step.ts'

/** As Flux and Argo CD apply objects on the server. */
const FLUX = words`--server-side --force-conflicts --field-manager=kustomize-controller`
const ARGO = words`--server-side --force-conflicts --field-manager=argocd-controller`

interface KubernetesObject {
  readonly kind: string
  readonly metadata: { readonly name: string }
}

const objectsIn = (directory: string): readonly KubernetesObject[] =>
  readdirSync(directory)
    .filter((name) => name.endsWith('.yaml'))
    .toSorted()
    .flatMap((name) => parseAllDocuments(readFileSync(join(directory, name), 'utf8')))
    // The manifests are our own, and each document is an object or empty.
    .map((document) => document.toJS() as KubernetesObject | null)
    .filter((object) => object !== null)

/** Nobody replaces a claim that is bound, and a Job only by another one of its name. */
const KEPT = 'PersistentVolumeClaim'

const keys = async (): Promise<unknown> =>
  (await read<{ data?: unknown }>(words`secret platform-secrets -n ${MANIFESTS}`)).data

async function send(verb: 'create' | 'replace', items: readonly KubernetesObject[]): Promise<void> {
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
  const { code, stderr } = await tryKubectl(words`${verb} -f -`, list)
  assert.equal(code, 0, stderr)
}

export const gitops: readonly Step[] = [
  {
    name: 'server-side',
    sentence:
      'a server-side apply, as Flux does it, installs the platform; another one, and one of ' +
      'Argo CD, change nothing',
    async run() {
      await freshNamespace(MANIFESTS)
      return withManifests(async (directory) => {
        await kubectl(words`apply ${FLUX} -f ${directory}`)
        await rolledOut(MANIFESTS)
        await isWell(MANIFESTS)
        await runLeavesSpans(MANIFESTS)
        const before = await keys()
        assert(before)
        const { code, stdout } = await tryKubectl(words`diff ${FLUX} -f ${directory}`)
        assert.equal(code, 0, stdout)
        await kubectl(words`apply ${ARGO} -f ${directory}`)
        assert.equal((await tryKubectl(words`diff ${ARGO} -f ${directory}`)).code, 0)
        assert.deepEqual(await keys(), before)
        await isWell(MANIFESTS)
        return `${objectsIn(directory).length} objects`
      })
    },
  },
  {
    name: 'replaced',
    sentence:
      'a replacement of every object, as Argo CD does it with Replace=true, empties the Secret, ' +
      'and the bootstrap Job brings back each key as it was',
    async run() {
      return withManifests(async (directory) => {
        const before = await keys()
        const objects = objectsIn(directory).filter(({ kind }) => kind !== KEPT)
        const jobs = objects.filter(({ kind }) => kind === 'Job')
        await send(
          'replace',
          objects.filter((object) => !jobs.includes(object)),
        )
        assert.notDeepEqual(await keys(), before)
        await kubectl(words`delete jobs --all -n ${MANIFESTS}`)
        await send('create', jobs)
        await kubectl(words`wait --for=condition=complete jobs --all -n ${MANIFESTS} --timeout=5m`)
        assert.deepEqual(await keys(), before)
        await rolledOut(MANIFESTS)
        await isWell(MANIFESTS)
        return runLeavesSpans(MANIFESTS)
      })
    },
  },
]
