import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { words } from '../bed/words.ts'
import { addressOf, helm, kubectl, read, rolledOut, upgrade } from './cluster.ts'
import { formerReleaseStep } from './former-release.ts'
import { ask, debugToken, isWell } from './platform.ts'
import { NAMESPACE } from './step.ts'
import type { Step } from './step.ts'
import { underLoad } from './under-load.ts'

const secretData = async (): Promise<unknown> =>
  (await read<{ data: unknown }>(words`secret platform-secrets -n ${NAMESPACE}`)).data

const statusWith = async (token: string): Promise<number> => {
  const url = `${await addressOf(NAMESPACE, 'platform-web')}/health/debug`
  return (await ask(url, token)).status
}

export const upgrades: readonly Step[] = [
  {
    name: 'restart',
    sentence: 'a restart of every Deployment fails no request and loses no acknowledged span',
    run: () =>
      underLoad(NAMESPACE, async () => {
        await kubectl(words`rollout restart deployments -n ${NAMESPACE}`)
        await rolledOut(NAMESPACE)
      }),
  },
  {
    name: 'upgrade',
    sentence: 'an upgrade with other values fails no request and loses no acknowledged span',
    run: () =>
      underLoad(NAMESPACE, async () => {
        await upgrade(
          NAMESPACE,
          words`--set-string collector.config.retentionWeeks=4
            --set web.podAnnotations.walk=upgrade --set envVars.LOG_LEVEL=debug`,
        )
        await isWell(NAMESPACE)
      }),
  },
  {
    name: 'rollback',
    sentence: 'a rollback fails no request, and every generated key stays what it was',
    async run() {
      const before = await secretData()
      const fact = await underLoad(NAMESPACE, async () => {
        await helm(words`rollback platform -n ${NAMESPACE} --wait --timeout 10m`)
        await isWell(NAMESPACE)
      })
      assert.deepEqual(await secretData(), before)
      return fact
    },
  },
  {
    name: 'rotation',
    sentence:
      'a new debug token opens the report and the former one does not, with no request lost',
    async run() {
      const former = await debugToken(NAMESPACE)
      const next = randomBytes(32).toString('hex')
      const fact = await underLoad(NAMESPACE, async () => {
        await upgrade(NAMESPACE, words`--set-string secrets.PLATFORM_DEBUG_TOKEN=${next}`)
        await rolledOut(NAMESPACE)
      })
      assert.equal(await statusWith(next), 200)
      assert.equal(await statusWith(former), 404)
      return fact
    },
  },
  formerReleaseStep,
]
