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

/** What seals the data, and what the database asks for: it has to survive everything. */
const LASTING = ['SECRET_KEY_BASE', 'OAUTH_ENCRYPTION_KEY', 'DB_PASSWORD']

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

async function lastingKeys(): Promise<readonly unknown[]> {
  const { data } = await read<{ data?: Readonly<Record<string, string>> }>(
    words`secret platform-secrets -n ${MANIFESTS}`,
  )
  return LASTING.map((name) => data?.[name])
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
        const keys = await lastingKeys()
        assert(keys.every(Boolean))
        const { code, stdout } = await tryKubectl(words`diff ${FLUX} -f ${directory}`)
        assert.equal(code, 0, stdout)
        await kubectl(words`apply ${ARGO} -f ${directory}`)
        assert.equal((await tryKubectl(words`diff ${ARGO} -f ${directory}`)).code, 0)
        assert.deepEqual(await lastingKeys(), keys)
        await isWell(MANIFESTS)
        return `${objectsIn(directory).length} objects`
      })
    },
  },
]
