import assert from 'node:assert/strict'
import { words } from '../bed/words.ts'
import { apply, comesTrue, kubectl, read, upgrade } from './cluster.ts'
import { callApi, endOf, isWell, kickOff, makeCaller, query, runToEnd } from './platform.ts'
import { NAMESPACE } from './step.ts'
import type { Step } from './step.ts'

const PASSPHRASE = 'a passphrase of the walk'

interface Job {
  readonly spec: {
    backoffLimit: number
    readonly template: {
      readonly spec: { readonly containers: [{ args: readonly string[]; readonly env: unknown[] }] }
    }
  }
  readonly status: { readonly succeeded?: number; readonly failed?: number }
}

/** Waits until a Job has ended; returns whether it succeeded, and what it printed. */
async function endOfJob(name: string): Promise<{ succeeded: boolean; printed: string }> {
  const job = words`job/${name} -n ${NAMESPACE}`
  let succeeded = false
  await comesTrue(`job ${name} ends`, async () => {
    const { status } = await read<Job>(job)
    succeeded = (status.succeeded ?? 0) > 0
    return succeeded || (status.failed ?? 0) > 0
  })
  return { succeeded, printed: await kubectl(words`logs ${job} -c backup`) }
}

async function backUp(): Promise<void> {
  await kubectl(words`create secret generic backup-passphrase -n ${NAMESPACE}
    --from-literal=${`passphrase=${PASSPHRASE}`}`)
  await upgrade(
    NAMESPACE,
    words`--set backup.enabled=true --set backup.passphraseSecret=backup-passphrase
      --set backup.volume.size=1Gi --set backup.resources.requests.cpu=20m`,
  )
  await kubectl(words`create job backup-now -n ${NAMESPACE} --from=cronjob/platform-backup`)
  const { succeeded, printed } = await endOfJob('backup-now')
  assert(succeeded, printed)
}

/** Restores the newest backup by a Job like those of the CronJob, with the keys to compare. */
async function restore(options: readonly string[]) {
  const job = JSON.parse(
    await kubectl(words`create job restore -n ${NAMESPACE} --from=cronjob/platform-backup
      --dry-run=client -o json`),
  ) as Job
  const [container] = job.spec.template.spec.containers
  container.args = ['backup:restore', 'latest', ...options]
  for (const key of ['SECRET_KEY_BASE', 'OAUTH_ENCRYPTION_KEY'])
    container.env.push({
      name: key,
      valueFrom: { secretKeyRef: { name: 'platform-secrets', key } },
    })
  job.spec.backoffLimit = 0
  await apply(JSON.stringify(job))
  const ended = await endOfJob('restore')
  await kubectl(words`delete job restore -n ${NAMESPACE}`)
  return ended
}

const spansOf = async (id: string): Promise<number> =>
  Number(await query(NAMESPACE, 'collector', `select count(*) from spans where trace_id = '${id}'`))

export const backups: readonly Step[] = [
  {
    name: 'restore',
    sentence:
      'a backup to a volume comes back by a Job: what was there then is there, with its keys, ' +
      'and what came later is not',
    async run() {
      const caller = await makeCaller(NAMESPACE)
      const before = await runToEnd(caller)
      await comesTrue('its spans are stored', async () => (await spansOf(before.id)) > 0)
      const spans = await spansOf(before.id)
      const started = performance.now()
      await backUp()
      const later = await runToEnd(caller)
      const refused = await restore(['--replace'])
      assert.equal(refused.succeeded, false)
      assert.match(refused.printed, /is in use by: /)
      await kubectl(words`scale deployment --all --replicas=0 -n ${NAMESPACE}`)
      await comesTrue('nobody uses the databases', async () => {
        const trial = await restore(['--replace', '--dry-run'])
        return trial.succeeded && trial.printed.includes('nothing was changed')
      })
      const { succeeded, printed } = await restore(['--replace'])
      assert(succeeded, printed)
      await upgrade(NAMESPACE)
      await isWell(NAMESPACE)
      await kubectl(words`delete secret backup-passphrase -n ${NAMESPACE}`)
      const seconds = Math.round((performance.now() - started) / 1000)
      assert.equal(await endOf(caller, before.id), 'completed')
      assert.equal(await spansOf(before.id), spans)
      assert.equal((await callApi(caller, `/status/${later.id}`)).status, 404)
      assert.equal(await endOf(caller, await kickOff(caller)), 'completed')
      return `${seconds} s from backup to restored`
    },
  },
]
