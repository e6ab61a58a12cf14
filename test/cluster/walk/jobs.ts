import assert from 'node:assert/strict'
import { words } from '../bed/words.ts'
import { apply, comesTrue, kubectl, read } from './cluster.ts'

interface Container {
  image: string
  command: readonly string[]
  args: readonly string[]
  readonly env: object[]
  readonly volumeMounts: object[]
}

interface PodSpec {
  readonly containers: [Container]
  initContainers?: object[]
  readonly volumes: object[]
}

interface Job {
  readonly spec: { backoffLimit: number; readonly template: { readonly spec: PodSpec } }
  readonly status: { readonly succeeded?: number; readonly failed?: number }
}

/** Waits until a Job of the backups has ended; returns what it printed. */
async function endOfJob(
  namespace: string,
  name: string,
): Promise<{ succeeded: boolean; printed: string }> {
  const job = words`job/${name} -n ${namespace}`
  let succeeded = false
  const hasEnded = async (): Promise<boolean> => {
    const { status } = await read<Job>(job)
    succeeded = (status.succeeded ?? 0) > 0
    return succeeded || (status.failed ?? 0) > 0
  }
  await comesTrue(`job ${name} ends`, hasEnded, 20)
  return { succeeded, printed: await kubectl(words`logs ${job} -c backup`) }
}

/** Makes the passphrase of backups; returns the settings that turn them on. */
export async function prepareBackups(namespace: string): Promise<readonly string[]> {
  await kubectl(words`create secret generic backup-passphrase -n ${namespace}
    --from-literal=${'passphrase=a passphrase of the walk'}`)
  return words`--set backup.enabled=true --set backup.passphraseSecret=backup-passphrase
    --set backup.volume.size=1Gi --set backup.resources.requests.cpu=20m`
}

/** Backs an installation up, and fails with what the Job printed. */
export async function backUpNow(namespace: string): Promise<void> {
  await kubectl(words`create job backup-now -n ${namespace} --from=cronjob/platform-backup`)
  const { succeeded, printed } = await endOfJob(namespace, 'backup-now')
  assert(succeeded, printed)
}

/** Runs a changed Job of the backups to its end, once, as the manual says. */
export async function runAsBackup(
  namespace: string,
  name: string,
  change: (container: Container, pod: PodSpec) => void,
): Promise<{ succeeded: boolean; printed: string }> {
  const job = JSON.parse(
    await kubectl(words`create job ${name} -n ${namespace} --from=cronjob/platform-backup
      --dry-run=client -o json`),
  ) as Job
  const { spec } = job.spec.template
  change(spec.containers[0], spec)
  job.spec.backoffLimit = 0
  await apply(JSON.stringify(job))
  return endOfJob(namespace, name)
}

/** Keys of the platform's Secret, as variables of a container. */
export const keysOf = (names: readonly string[]): object[] =>
  names.map((key) => ({
    name: key,
    valueFrom: { secretKeyRef: { name: 'platform-secrets', key } },
  }))
