import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { formerRelease } from '../bed/former-release.ts'
import { repository } from '../bed/places.ts'
import { words } from '../bed/words.ts'
import { helm } from './cluster.ts'
import { backUpNow, prepareBackups, runAsBackup } from './jobs.ts'

interface Verdict {
  readonly verdict: string
  readonly programs: { readonly tried: readonly string[] } | null
  readonly formerPrograms: { readonly tried: readonly string[] } | null
}

const { version }: { version: string } = JSON.parse(
  readFileSync(join(repository, 'package.json'), 'utf8'),
)

/** Runs `upgrade:prove` of this release as the manual says, beside the programs of before. */
async function rehearse(namespace: string, name: string, args: readonly string[]): Promise<string> {
  const { succeeded, printed } = await runAsBackup(namespace, name, (container, pod) => {
    const volume = { name: 'former', mountPath: '/former' }
    pod.initContainers = [
      {
        ...container,
        name: 'former',
        command: ['cp', '-r', 'build/.', '/former'],
        args: [],
        volumeMounts: [volume],
      },
    ]
    pod.volumes.push({ name: 'former', emptyDir: {} })
    container.volumeMounts.push(volume)
    container.image = container.image.replace(/:[^:]+$/, `:${version}`)
    container.args = ['upgrade:prove', ...args]
  })
  assert(succeeded, printed)
  return printed
}

/**
 * Backs the release before up, rehearses its upgrade to this one, and records the verdict. Returns
 * the settings by which an upgrade asks for it, and what was found.
 */
export async function proveUpgrade(namespace: string) {
  const backup = await prepareBackups(namespace)
  await helm(
    words`upgrade platform ${formerRelease.chart} --namespace ${namespace}
      --values ${formerRelease.bedValues} --values ${formerRelease.values} ${backup}
      --wait --wait-for-jobs --timeout 10m`,
  )
  await backUpNow(namespace)
  const key = (await rehearse(namespace, 'prove-key', ['--print-key'])).trim()
  const tried = words`--record --json --observe 5 --former-programs /former`
  const printed = await rehearse(namespace, 'prove', tried)
  const { verdict } = JSON.parse(printed.trim().split('\n').at(-1) ?? '') as { verdict: Verdict }
  assert.equal(verdict.verdict, 'proven', printed)
  const tries = [verdict.programs, verdict.formerPrograms].map((each) => each?.tried.length ?? 0)
  assert(
    tries.every((count) => count > 20),
    printed,
  )
  return {
    settings: words`${backup} --set upgrade.requireProof=true --set-string upgrade.proofKey=${key}`,
    fact: `proven with ${tries.join(' and ')} tries of programs`,
  }
}
