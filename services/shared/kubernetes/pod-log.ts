import { isPassing, refusal } from './apply.ts'
import type { Kubernetes } from './client.ts'

const LINES_MAX = 2000
const BYTES_MAX = 512 * 1024

/** The output of one container of a pod. */
interface PodLogQuery {
  readonly namespace: string
  readonly pod: string
  readonly container: string
  /** Only lines after this time. */
  readonly since?: Date | null | undefined
  /** The last lines at the most. @default 2000 */
  readonly lines?: number
  /** Of the container before the last restart. */
  readonly isPrevious?: boolean
}

interface LogLine {
  readonly at: Date
  readonly text: string
}

/**
 * Reads the output of a container; none while it has not started, or is gone. Raises `forbidden`
 * with what to do.
 */
export async function readPodLog(
  kubernetes: Kubernetes,
  { namespace, pod, container, since, lines = LINES_MAX, isPrevious }: PodLogQuery,
): Promise<readonly LogLine[]> {
  const query = new URLSearchParams({
    container,
    timestamps: 'true',
    tailLines: String(lines),
    limitBytes: String(BYTES_MAX),
    ...(since ? { sinceTime: since.toISOString() } : {}),
    ...(isPrevious ? { previous: 'true' } : {}),
  })
  const place = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`
  const path = `${place}/${encodeURIComponent(pod)}/log?${query.toString()}`
  const result = await kubernetes({ method: 'GET', path, answer: 'text' })
  if ('failure' in result) {
    // 400: the container waits to start; 404: the pod is gone.
    const { status } = result.failure
    if (isPassing(result.failure) || status === 400 || status === 404) return []
    throw refusal(result.failure, { kind: 'log of pod', name: pod, namespace, verbs: 'get' })
  }
  const after = since?.getTime() ?? -Infinity
  return typeof result.object === 'string'
    ? toLines(result.object).filter(({ at }) => at.getTime() > after)
    : []
}

function toLines(text: string): readonly LogLine[] {
  return text.split('\n').flatMap((line) => {
    const [, time = '', rest = ''] = /^(\S+) ?(.*)$/.exec(line) ?? []
    const at = new Date(time)
    return Number.isNaN(at.getTime()) ? [] : [{ at, text: rest }]
  })
}
