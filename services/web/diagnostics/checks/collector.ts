import * as v from 'valibot'
import { describeOutage, failed, passed, skipped, warning, withWarnings } from '../findings.ts'
import { probe } from '../http-probe.ts'
import type { ProbeAnswer } from '../http-probe.ts'
import type { Details, Finding } from '../report.ts'
import type { Check } from '../run-checks.ts'

const ANSWER_BYTES_MAX = 64 * 1024

const healthReport = v.object({
  status: v.picklist(['ok', 'degraded']),
  database: v.optional(v.picklist(['up', 'down'])),
  storage: v.optional(v.picklist(['ok', 'full'])),
  clock: v.optional(v.picklist(['ok', 'skewed'])),
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
        const answer = await probe(target, { signal, bytesMax: ANSWER_BYTES_MAX })
        return judge(answer, details)
      } catch (thrown) {
        return failed('collector_unreachable', describeOutage(thrown), { details })
      }
    },
  }
}

function judge({ status, json, cut }: ProbeAnswer, details: Details): Finding {
  if (status !== 200) {
    return failed('collector_unreachable', `HTTP ${status} from the collector`, { details })
  }
  if (cut) return failed('collector_unreachable', describeOutage(cut), { details })
  const health = v.safeParse(healthReport, json)
  if (health.success) return passed({ details: { ...details, collector: health.output } })
  return passed({ details: withWarnings(details, [UNRECOGNIZED]) })
}

const UNRECOGNIZED = warning(
  'collector_unrecognized',
  'HTTP 200 without a health report: something else may answer at COLLECTOR_URL',
)
