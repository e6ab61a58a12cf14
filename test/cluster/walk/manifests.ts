import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { command } from '../bed/command.ts'
import { repository } from '../bed/places.ts'
import { words } from '../bed/words.ts'
import { kubectl, rolledOut, tryKubectl, valuesFile } from './cluster.ts'
import { freshNamespace, podsAreReady, runLeavesSpans } from './installation.ts'
import { isWell } from './platform.ts'
import type { Step } from './step.ts'

/** The namespace of the plain manifests. */
export const MANIFESTS = 'platform-manifests'

/**
 * The manifests that `npm run synth` writes for the values of the bed, in a directory for as long
 * as they are used.
 */
export async function withManifests<T>(use: (directory: string) => Promise<T>): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), 'manifests-'))
  const synth = words`npm run --silent synth -- --values ${valuesFile} --namespace ${MANIFESTS}`
  try {
    await command([...synth, '--out', directory], { cwd: repository })
    return await use(directory)
  } finally {
    rmSync(directory, { recursive: true })
  }
}

export const manifests: readonly Step[] = [
  {
    name: 'manifests',
    sentence: 'kubectl apply of the plain manifests installs the same platform',
    async run() {
      await freshNamespace(MANIFESTS)
      await withManifests((directory) => kubectl(words`apply -f ${directory}`))
      await rolledOut(MANIFESTS)
      await isWell(MANIFESTS)
      await podsAreReady(MANIFESTS)
      return runLeavesSpans(MANIFESTS)
    },
  },
  {
    name: 'manifests-again',
    sentence: 'a second kubectl apply changes nothing, and a server-side one has no conflict',
    async run() {
      return withManifests(async (directory) => {
        const lines = (await kubectl(words`apply -f ${directory}`)).trim().split('\n')
        const changed = lines.filter((line) => !line.endsWith(' unchanged'))
        assert.deepEqual(changed, [])
        assert.equal((await tryKubectl(words`diff -f ${directory}`)).code, 0)
        await kubectl(words`apply --server-side -f ${directory}`)
        return `${lines.length} objects`
      })
    },
  },
]
