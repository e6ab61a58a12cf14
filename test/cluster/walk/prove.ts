import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { formerRelease } from '../bed/former-release.ts'
import { repository } from '../bed/places.ts'
import { words } from '../bed/words.ts'
import { apply, comesTrue, helm, kubectl, read } from './cluster.ts'

interface Container {
  image: string
  args: readonly string[]
  readonly volumeMounts?: object[]
}

interface Job {
  readonly metadata: { name: string }
  readonly spec: {
    backoffLimit: number
    readonly template: {
      readonly spec: {
        readonly containers: [Container]
        initContainers?: object[]
        readonly volumes?: object[]
      }
    }
  }
  readonly status: { readonly succeeded?: number; readonly failed?: number }
}

interface Verdict {
  readonly verdict: string
  readonly programs: { readonly tried: readonly string[] } | null
  readonly formerPrograms: { readonly tried: readonly string[] } | null
}

const { version }: { version: string } = JSON.parse(
  readFileSync(join(repository, 'package.json'), 'utf8'),
)

/** Returns what a Job printed that has to succeed. */
async function endOf(namespace: string, name: string): Promise<string> {
  const job = words`job/${name} -n ${namespace}`
  let succeeded = false
  await comesTrue(`job ${name} ends`, async () => {
    const { status } = await read<Job>(job)
    succeeded = (status.succeeded ?? 0) > 0
    return succeeded || (status.failed ?? 0) > 0
  })
  const printed = await kubectl(words`logs ${job} -c backup`)
  assert(succeeded, printed)
  return printed
}

/** Runs `upgrade:prove` of this release as the manual says, beside the programs of before. */
async function rehearse(namespace: string, name: string, args: readonly string[]): Promise<string> {
  const job = JSON.parse(
    await kubectl(words`create job ${name} -n ${namespace} --from=cronjob/platform-backup
      --dry-run=client -o json`),
  ) as Job
  const { spec } = job.spec.template
  const [container] = spec.containers
  const volume = { name: 'former', mountPath: '/former' }
  spec.initContainers = [
    {
      ...container,
      name: 'former',
      command: ['cp', '-r', 'build/.', '/former'],
      args: [],
      volumeMounts: [volume],
    },
  ]
  spec.volumes?.push({ name: 'former', emptyDir: {} })
  container.volumeMounts?.push(volume)
  container.image = container.image.replace(/:[^:]+$/, `:${version}`)
  container.args = ['upgrade:prove', ...args]
  job.spec.backoffLimit = 0
  await apply(JSON.stringify(job))
  return endOf(namespace, name)
}

/**
 * Backs the release before up, rehearses its upgrade to this one, and records the verdict. Returns
 * the settings by which an upgrade asks for it, and what was found.
 */
export async function proveUpgrade(namespace: string) {
  await kubectl(words`create secret generic backup-passphrase -n ${namespace}
    --from-literal=${'passphrase=a passphrase of the walk'}`)
  const backup = words`--set backup.enabled=true --set backup.passphraseSecret=backup-passphrase
    --set backup.volume.size=1Gi --set backup.resources.requests.cpu=20m`
  await helm(
    words`upgrade platform ${formerRelease.chart} --namespace ${namespace}
      --values ${formerRelease.bedValues} --values ${formerRelease.values} ${backup}
      --wait --wait-for-jobs --timeout 10m`,
  )
  await kubectl(words`create job backup-now -n ${namespace} --from=cronjob/platform-backup`)
  await endOf(namespace, 'backup-now')
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
