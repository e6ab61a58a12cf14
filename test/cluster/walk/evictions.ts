import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { words } from '../bed/words.ts'
import { comesTrue, longLivedPods, isReady, rolledOut, tryKubectl, upgrade } from './cluster.ts'
import type { Pod } from './cluster.ts'
import { isWell, makeCaller } from './platform.ts'
import { crewsOf, NAMESPACE } from './step.ts'
import type { Step } from './step.ts'
import { underLoad, underRuns } from './under-load.ts'

/** Those with one pod by nature; all others have a second one in this step. */
const SINGLE = new Set(['postgres', 'internal-registry'])
/** A drain waits five seconds. */
const ASK_AGAIN_MS = 2000
const SCALED = ['web', 'worker', 'oauth', 'collector']

const isScaled = ({ metadata }: Pod): boolean =>
  !SINGLE.has(metadata.labels?.['app.kubernetes.io/component'] ?? '')

/** Asks for the eviction of a pod until its disruption budget allows it, as a drain does. */
async function evict(namespace: string, name: string): Promise<number> {
  const path = `/api/v1/namespaces/${namespace}/pods/${name}/eviction`
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace } }
  let refusals = 0
  await comesTrue(`pod ${name} may be evicted`, async () => {
    const line = words`create --raw ${path} -f -`
    const { code, stderr } = await tryKubectl(line, JSON.stringify(eviction))
    if (code === 0) return true
    assert.match(stderr, /disruption budget|TooManyRequests/)
    refusals += 1
    await delay(ASK_AGAIN_MS)
    return false
  })
  return refusals
}

/** Evicts all pods at once, as when a node is emptied. */
async function drain(namespace: string): Promise<number> {
  const pods = (await longLivedPods(namespace)).filter(isScaled)
  const names = pods.map(({ metadata }) => metadata.name)
  const refusals = await Promise.all(names.map((name) => evict(namespace, name)))
  await comesTrue('others are in their places', async () => {
    const now = (await longLivedPods(namespace)).filter(isScaled)
    const areOthers = now.every(({ metadata }) => !names.includes(metadata.name))
    return areOthers && now.length === pods.length && now.every(isReady)
  })
  return refusals.reduce((sum, each) => sum + each, 0)
}

export const evictions: readonly Step[] = [
  {
    name: 'drain',
    sentence:
      'evictions of all pods at once, with two of each, wait for one another: no request fails, ' +
      'no run and no span is lost',
    async run() {
      await upgrade(
        NAMESPACE,
        SCALED.flatMap((name) => words`--set ${name}.replicaCount=2`),
      )
      let refusals = 0
      const fact = await underRuns(await makeCaller(NAMESPACE), () =>
        underLoad(NAMESPACE, async () => {
          refusals += await drain(NAMESPACE)
          await drain(crewsOf(NAMESPACE))
        }),
      )
      assert(refusals > 0, 'no disruption budget held an eviction back')
      await upgrade(NAMESPACE)
      await rolledOut(NAMESPACE)
      await isWell(NAMESPACE)
      return `${fact}; ${refusals} refusals`
    },
  },
]
