import assert from 'node:assert/strict'
import { words } from '../bed/words.ts'
import { kubectl, tryKubectl } from './cluster.ts'
import { readReport, reports } from './platform.ts'
import type { Report } from './platform.ts'
import { crewsOf, NAMESPACE } from './step.ts'
import type { Step } from './step.ts'

const verify = words`exec -n ${NAMESPACE} deployment/platform-worker -c worker --
  node build/worker/main.js verify-builds`

interface Builds {
  readonly checked_at: string | null
  readonly canary: { readonly ok: boolean; readonly seconds: number } | null
}

const warningsOf = (report: Report): string =>
  JSON.stringify(report.components['platform_pods']?.details?.['warnings'] ?? [])

const scaleBuildkit = (replicas: number): Promise<string> =>
  kubectl(words`scale deployment/platform-buildkit -n ${NAMESPACE} --replicas=${String(replicas)}`)

async function objectsLeft(): Promise<string> {
  const kinds = 'jobs,secrets,networkpolicies,pods'
  const { stdout } = await tryKubectl(
    words`get ${kinds} -n ${crewsOf(NAMESPACE)} -l platform/automation=0 -o name
      --field-selector=metadata.deletionTimestamp=`,
  )
  return stdout.trim()
}

export const buildCanary: readonly Step[] = [
  {
    name: 'build-canary',
    sentence:
      'verify-builds makes an image from web to a node, leaves nothing, and is in the report',
    async run() {
      const printed = await kubectl(verify)
      assert.match(printed, /✓ build and push .*\n✓ read .*\n✓ pull /)
      assert.equal(await objectsLeft(), '')
      await reports(NAMESPACE, 'no warning of builds', (each) => !/build/.test(warningsOf(each)))
      const { details } = (await readReport(NAMESPACE)).components['platform_pods'] ?? {}
      // The report's own tests pin its form.
      const found = details?.['builds'] as Builds | undefined
      const { checked_at: checkedAt, canary } = found ?? {}
      assert(checkedAt)
      assert.equal(canary?.ok, true)
      return `${canary.seconds} s`
    },
  },
  {
    name: 'buildkit-down',
    sentence: 'without BuildKit verify-builds and the report say so, and not with it again',
    async run() {
      await scaleBuildkit(0)
      const { code, stdout } = await tryKubectl(verify)
      assert.equal(code, 1, stdout)
      assert.match(stdout, /buildkit_unreachable/)
      await reports(NAMESPACE, 'buildkit_unreachable', (each) =>
        warningsOf(each).includes('"buildkit_unreachable"'),
      )
      await scaleBuildkit(1)
      await kubectl(words`rollout status deployment/platform-buildkit -n ${NAMESPACE} --timeout=5m`)
      await kubectl(verify)
      await reports(NAMESPACE, 'no warning of builds', (each) => !/build/.test(warningsOf(each)))
      return 'told, and well again'
    },
  },
]
