import * as v from 'valibot'
import { describeOutage, failed, passed, skipped } from '../findings.ts'
import { probe } from '../http-probe.ts'
import type { ProbeAnswer } from '../http-probe.ts'
import type { Check } from '../run-checks.ts'

const ANSWER_BYTES_MAX = 64 * 1024

const healthReport = v.object({
  status: v.picklist(['ok', 'degraded']),
  database: v.optional(v.picklist(['up', 'down'])),
})

/** The trace collector answers this pod. That it cannot reach its own database is told, and is no failure: it buffers. */
export function collectorCheck(url: string | undefined): Check {
  return {
    timeoutCode: 'collector_unreachable',
    async run({ signal }) {
      if (url === undefined) return skipped()
      const target = new URL(`${url}/health`)
      const details = { host: target.host }
      try {
        const { status, json } = await probe(target, { signal, bytesMax: ANSWER_BYTES_MAX })
        const health = v.safeParse(healthReport, json)
        if (status === 200 && health.success) {
          return passed({ details: { ...details, collector: health.output } })
        }
        const error = describeAnswer({ status, json })
        return failed('collector_unreachable', error, { details })
      } catch (thrown) {
        return failed('collector_unreachable', describeOutage(thrown), { details })
      }
    },
  }
}

const describeAnswer = ({ status }: ProbeAnswer): string =>
  status === 200
    ? 'HTTP 200 without a health report: something else answers at COLLECTOR_URL'
    : `HTTP ${status} from the collector`
