import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { words } from '../bed/words.ts'
import {
  addressOf,
  chart,
  comesTrue,
  helm,
  kubectl,
  rolledOut,
  upgrade,
  valuesFile,
} from './cluster.ts'
import { ask, debugToken, isWell, readReport, reports } from './platform.ts'
import type { Component, Report } from './platform.ts'
import { crewsOf, NAMESPACE } from './step.ts'
import type { Step } from './step.ts'

/** True when a component fails with this code. */
function failsWith(report: Report, component: string, code: string): boolean {
  const found: Component | undefined = report.components[component]
  return found?.status === 'fail' && JSON.stringify(found).includes(`"${code}"`)
}

/** Every remedy of a component in the report, of its failure and of its warnings. */
async function remediesOf(component: string): Promise<string> {
  const { details } = (await readReport(NAMESPACE)).components[component] ?? {}
  return JSON.stringify(details ?? {})
}

/**
 * Runs the command of kubectl that begins so in a remedy, as an operator pastes it; the upgrade of
 * a remedy is run with the values of the walk instead.
 */
async function follow(component: string, verb: string): Promise<void> {
  const remedies = await remediesOf(component)
  const [, line] = new RegExp(`\`kubectl (-n [^ \`]+ ${verb} [^\`]+)\``).exec(remedies) ?? []
  assert(line, `no remedy has kubectl … ${verb}: ${remedies}`)
  await kubectl(line.split(' '))
}

const scale = (what: string, replicas: number): Promise<string> =>
  kubectl(words`scale ${what} -n ${NAMESPACE} --replicas=${String(replicas)}`)

export const faults: readonly Step[] = [
  {
    name: 'worker-down',
    sentence: 'without a worker the report is degraded and names the Deployment',
    async run() {
      await scale('deployment/platform-worker', 0)
      await reports(
        NAMESPACE,
        'deployments_unready of platform-worker',
        (report) =>
          failsWith(report, 'platform_pods', 'deployments_unready') &&
          (report.components['platform_pods']?.error ?? '').includes('platform-worker'),
      )
      assert.equal((await readReport(NAMESPACE)).status, 'degraded')
      await follow('platform_pods', 'scale')
      await isWell(NAMESPACE)
      return 'degraded, then ok'
    },
  },
  {
    name: 'crew-gone',
    sentence: 'a crew that was deleted is told as missing, and an upgrade brings it back',
    async run() {
      await kubectl(words`delete deployment crew-runner -n ${crewsOf(NAMESPACE)}`)
      await reports(NAMESPACE, 'crew_pods_unready of crew-runner', (report) =>
        failsWith(report, 'designer', 'crew_pods_unready'),
      )
      await upgrade(NAMESPACE)
      await isWell(NAMESPACE)
      return 'degraded, then ok'
    },
  },
  {
    name: 'crew-scaled-to-zero',
    sentence:
      'a crew that was scaled to zero is told so, holds no upgrade up, and is well after the ' +
      'command of its remedy',
    async run() {
      const crew = words`deployment crew-runner -n ${crewsOf(NAMESPACE)}`
      await kubectl(words`scale ${crew} --replicas=0`)
      await reports(NAMESPACE, 'crew_pods_unready of crew-runner', (report) =>
        failsWith(report, 'designer', 'crew_pods_unready'),
      )
      await upgrade(NAMESPACE)
      await follow('designer', 'scale')
      await isWell(NAMESPACE)
      return 'degraded, then ok'
    },
  },
  {
    name: 'deployment-gone',
    sentence: 'a Deployment that was deleted is told as missing, and an upgrade brings it back',
    async run() {
      await kubectl(words`delete deployment platform-collector -n ${NAMESPACE}`)
      await reports(NAMESPACE, 'platform-collector (missing)', ({ components }) =>
        (components['platform_pods']?.error ?? '').includes('platform-collector (missing)'),
      )
      assert.match(await remediesOf('platform_pods'), /helm upgrade platform dist\/chart/)
      await upgrade(NAMESPACE)
      await isWell(NAMESPACE)
      return 'degraded, then ok'
    },
  },
  {
    name: 'crew-unready',
    sentence: 'a crew whose pods cannot start is told with the reason and commands that show it',
    async run() {
      const crew = words`deployment/crew-runner -n ${crewsOf(NAMESPACE)}`
      await kubectl(words`scale ${crew} --replicas=0`)
      await kubectl(words`set image ${crew} crew=localhost/none:missing`)
      await kubectl(words`scale ${crew} --replicas=1`)
      await reports(NAMESPACE, 'crew_pods_unready with the reason of the pull', (report) => {
        const said = JSON.stringify(report.components['designer'])
        return failsWith(report, 'designer', 'crew_pods_unready') && /ImagePull/.test(said)
      })
      await follow('designer', 'describe')
      await upgrade(NAMESPACE)
      await isWell(NAMESPACE)
      return 'told, then ok'
    },
  },
  {
    name: 'rights-gone',
    sentence: 'without its RoleBinding web says which right is missing, and an upgrade restores it',
    async run() {
      await kubectl(words`delete rolebinding -n ${NAMESPACE} -l app.kubernetes.io/component=web`)
      await reports(NAMESPACE, 'rbac_forbidden', (report) =>
        failsWith(report, 'platform_pods', 'rbac_forbidden'),
      )
      await upgrade(NAMESPACE)
      await isWell(NAMESPACE)
      return 'rbac_forbidden, then ok'
    },
  },
  {
    name: 'collector-down',
    sentence: 'without a collector the report is degraded with collector_unreachable',
    async run() {
      await scale('deployment/platform-collector', 0)
      await reports(NAMESPACE, 'collector_unreachable', (report) =>
        failsWith(report, 'collector', 'collector_unreachable'),
      )
      await scale('deployment/platform-collector', 1)
      await isWell(NAMESPACE)
      return 'degraded, then ok'
    },
  },
  {
    name: 'image-missing',
    sentence:
      'an upgrade to an image that does not exist leaves the old pods serving, ' +
      'and the report says why it is stuck',
    async run() {
      await helm(
        words`upgrade platform ${chart} -n ${NAMESPACE} --values ${valuesFile}
          --set-string image.tag=missing`,
      )
      await reports(
        NAMESPACE,
        'a row of platform_pods with the reason of the pull',
        ({ components }) =>
          /ErrImagePull|ImagePullBackOff/.test(JSON.stringify(components['platform_pods'])),
      )
      const health = await fetch(`${await addressOf(NAMESPACE, 'platform-web')}/health`)
      assert.equal(health.status, 200)
      await helm(words`rollback platform -n ${NAMESPACE} --wait --timeout 10m`)
      await rolledOut(NAMESPACE)
      await isWell(NAMESPACE)
      return 'told, then ok'
    },
  },
  {
    name: 'database-down',
    sentence:
      'without its database the platform still reports through its Service, and recovers by itself',
    async run() {
      await scale('statefulset/platform-postgres', 0)
      const web = await addressOf(NAMESPACE, 'platform-web')
      await comesTrue('/health is 503', async () => {
        const answer = await fetch(`${web}/health`).catch(() => undefined)
        return answer?.status === 503
      })
      // Longer than the readiness probe would have needed to take the pods out of the Service.
      await delay(30_000)
      const answer = await ask(`${web}/health/debug`, await debugToken(NAMESPACE))
      assert.equal(answer.status, 503)
      assert.match(await answer.text(), /"db_(unreachable|timeout)"/)
      await scale('statefulset/platform-postgres', 1)
      await isWell(NAMESPACE)
      return '503 with the report, then ok'
    },
  },
]
