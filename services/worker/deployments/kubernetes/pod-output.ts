import type { Kubernetes } from '../../../shared/kubernetes/client.ts'
import type { Labels } from '../../../shared/kubernetes/objects.ts'
import { readPodLog } from '../../../shared/kubernetes/pod-log.ts'
import type { KubernetesPod } from '../../../shared/kubernetes/pod.ts'
import { listPods } from './cluster-calls.ts'

const LAST_LINES = 30

interface Output {
  readonly kubernetes: Kubernetes
  readonly namespace: string
  readonly selector: Labels
  readonly container: string
  readonly write: (text: string) => void
}

/** Hands on what a container of pods prints, each line once. */
interface PodOutput {
  /** Hands on what came since the last time. */
  readonly pump: () => Promise<void>
}

/** Follows the output of one container of all pods with certain labels, from a time on. */
export function followOutput(
  { kubernetes, namespace, selector, container, write }: Output,
  from: Date | null = null,
): PodOutput {
  const seen = new Map<string, Date>()
  return {
    async pump() {
      for (const { metadata } of await listPods(kubernetes, namespace, selector)) {
        const since = seen.get(metadata.name) ?? from
        const query = { namespace, pod: metadata.name, container, since }
        const lines = await readPodLog(kubernetes, query)
        for (const { text } of lines) write(`${text}\n`)
        const last = lines.at(-1)
        if (last) seen.set(metadata.name, last.at)
      }
    },
  }
}

/**
 * Returns the last lines of the container that ended with a failure, before its restart, or else of
 * the one that runs. Empty when there are none.
 */
export async function lastLines(
  kubernetes: Kubernetes,
  { namespace, selector }: Pick<Output, 'namespace' | 'selector'>,
): Promise<string> {
  for (const pod of await listPods(kubernetes, namespace, selector)) {
    const container = failedContainer(pod) ?? pod.status.containerStatuses[0]?.name
    if (container === undefined) continue
    const about = { namespace, pod: pod.metadata.name, container, lines: LAST_LINES }
    const before = await readPodLog(kubernetes, { ...about, isPrevious: true })
    const lines = before.length > 0 ? before : await readPodLog(kubernetes, about)
    if (lines.length > 0) return lines.map(({ text }) => text).join('\n')
  }
  return ''
}

function failedContainer({ status }: KubernetesPod): string | undefined {
  const all = [...status.initContainerStatuses, ...status.containerStatuses]
  return all.find(({ state, lastState }) => {
    const ended = state.terminated ?? lastState.terminated
    return ended !== undefined && ended.exitCode !== 0
  })?.name
}
