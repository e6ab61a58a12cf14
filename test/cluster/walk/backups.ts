import assert from 'node:assert/strict'
import { words } from '../bed/words.ts'
import { comesTrue, kubectl, upgrade } from './cluster.ts'
import { backUpNow, keysOf, prepareBackups, runAsBackup } from './jobs.ts'
import { callApi, endOf, isWell, kickOff, makeCaller, query, runToEnd } from './platform.ts'
import { NAMESPACE } from './step.ts'
import type { Step } from './step.ts'

async function backUp(): Promise<void> {
  await upgrade(NAMESPACE, await prepareBackups(NAMESPACE))
  await backUpNow(NAMESPACE)
}

/** Restores the newest backup by a Job like those of the CronJob, with the keys to compare. */
async function restore(options: readonly string[]) {
  const ended = await runAsBackup(NAMESPACE, 'restore', (container) => {
    container.args = ['backup:restore', 'latest', ...options]
    container.env.push(...keysOf(['SECRET_KEY_BASE', 'OAUTH_ENCRYPTION_KEY']))
  })
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
