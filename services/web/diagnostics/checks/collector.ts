import { html } from 'hono/html'
import * as v from 'valibot'
import { readOnly } from '../../../platform/diagnostics.ts'
import { listLateForwards } from '../../../platform/traces/forward-queue.ts'
import type { Check, CheckContext } from '../check.ts'
import { declareCodes } from '../failure-code.ts'
import { failed, passed, skipped, warning, withWarnings } from '../finding.ts'
import type { Finding, Warning } from '../finding.ts'
import { httpGet } from '../http-get.ts'
import type { HttpAnswer } from '../http-get.ts'
import { orAbort } from '../or-abort.ts'
import { describeOutage } from '../outage.ts'

const ANSWER_BYTES_MAX = 64 * 1024
const FORWARDS_MAX = 20
/** A month, in which a larger volume is ordered. */
const SOON_MS = 30 * 86_400_000

const healthReport = v.object({
  status: v.picklist(['ok', 'degraded']),
  database: v.optional(v.picklist(['up', 'down'])),
  storage: v.optional(v.picklist(['ok', 'full'])),
  storage_full_on: v.optional(v.nullable(v.pipe(v.string(), v.isoDate()))),
  clock: v.optional(v.picklist(['ok', 'skewed'])),
  days_held_back: v.optional(v.number()),
  roll_ups: v.optional(v.picklist(['ok', 'late'])),
  archived_days: v.optional(v.number()),
  archive_failure: v.optional(v.nullable(v.string())),
})

interface CollectorDetails {
  readonly host: string
  readonly collector: v.InferOutput<typeof healthReport>
}

const failures = declareCodes({
  collector_unreachable:
    'Check COLLECTOR_URL, the collector pods and the network policy. Traces are lost meanwhile; ' +
    'runs are not.',
})

const warnings = declareCodes({
  collector_unrecognized:
    'Something answers at COLLECTOR_URL that does not look like the trace collector. Check that ' +
    'COLLECTOR_URL is the address of its Service.',
  collector_database_down:
    'The collector keeps spans in memory until its database takes them again. Look at that ' +
    'database, and at the log of the collector.',
  collector_storage_full:
    'The days of traces have reached their limit, and no spans are taken. Raise the limit, give ' +
    'the database a larger volume, or keep traces for less time (collector.config.retentionWeeks).',
  collector_storage_ends_soon:
    'From that day on the oldest days of traces go before their time. Raise ' +
    'collector.config.maxStorageBytes, and postgres.storage.size with it, or lower ' +
    'collector.config.retentionWeeks; `doctor --from-now` prints the values.',
  collector_clock_skewed:
    'Set the clocks of the nodes of the collector and of its database by NTP; until then no ' +
    'expired day is dropped.',
  collector_retention_late:
    'Expired days are kept until it is sure that they have expired. Look at the clocks, and at ' +
    'the log of the collector.',
  collector_roll_ups_late:
    'Lists and totals of traces lag behind. Look at the load of the trace database, and give ' +
    'the collector or the database more CPU.',
  collector_archive_failing:
    'A day of traces is not archived, or archived days cannot be read; no span is lost. Look at ' +
    'the object store, and at the log of the job archive; `archive:verify DAY` compares a day. ' +
    'The next run begins the day anew.',
  trace_forwards_late:
    'Another backend gets no spans of an organization, or gets them late; they wait for as long ' +
    'as traces are kept. An admin of the organization sees the reason under Traces, Send traces, ' +
    'Trace forwards, and resumes the forward there once its address or headers are right. Where ' +
    'many are late, look at the log of the worker, and at its way out.',
})

/**
 * The trace collector answers this pod. A collector that cannot reach its own database passes and
 * says so in the details, because it buffers.
 */
export const collectorCheck: Check<CollectorDetails> = {
  weight: 'optional',
  title: 'Trace collector',
  skipped: 'Trace collection is switched off',
  failures,
  warnings,
  timeout: failures.collector_unreachable,
  page: {
    facts: ({ host, collector }) => [
      ...(host ? [html`<li class="mono">${host}</li>`] : []),
      ...(collector?.archived_days
        ? [html`<li>${collector.archived_days} days archived</li>`]
        : []),
    ],
  },

  async run(context, { config: { COLLECTOR_URL: url } }) {
    if (url === undefined) return skipped()
    const target = new URL(`${url}/health`)
    const { host } = target
    try {
      const { signal } = context
      const late = warnOfForwards(context)
      const answer = await httpGet(target, { signal, bytesMax: ANSWER_BYTES_MAX })
      return toFinding(answer, host, await late)
    } catch (thrown) {
      return failed(failures.collector_unreachable, describeOutage(thrown), { details: { host } })
    }
  },
}

/** A database that cannot be asked is the matter of its own check. */
async function warnOfForwards({ signal, sql }: CheckContext): Promise<readonly Warning[]> {
  try {
    const read = readOnly(sql, (tx) => listLateForwards(tx, FORWARDS_MAX))
    const late = await orAbort(signal, read)
    const [first] = late
    if (!first) return []
    const count = late.length < FORWARDS_MAX ? late.length : `${FORWARDS_MAX} or more`
    const named = `"${first.name}" of ${first.organization}`
    return [warning(warnings.trace_forwards_late, `late trace forwards: ${count}, first ${named}`)]
  } catch {
    return []
  }
}

function toFinding(
  { status, json, cut }: HttpAnswer,
  host: string,
  late: readonly Warning[],
): Finding<CollectorDetails> {
  const unreachable = (error: string): Finding<CollectorDetails> =>
    failed(failures.collector_unreachable, error, { details: { host } })
  if (status !== 200) return unreachable(`HTTP ${status} from the collector`)
  if (cut) return unreachable(describeOutage(cut))
  const health = v.safeParse(healthReport, json)
  if (health.success) {
    const details = { host, collector: health.output }
    return passed({ details: withWarnings(details, [...warningsOf(health.output), ...late]) })
  }
  return passed({ details: withWarnings({ host }, [UNRECOGNIZED]) })
}

/** What keeps a collector from being well although it answers. */
function warningsOf(health: v.InferOutput<typeof healthReport>): readonly Warning[] {
  const { database, storage, clock, days_held_back: days = 0, roll_ups: rollUps } = health
  const { archive_failure: failure = null, storage_full_on: fullOn = null } = health
  const isEnding = fullOn !== null && Date.parse(fullOn) - Date.now() < SOON_MS
  const warn = (isSo: boolean, code: keyof typeof warnings, message: string): Warning[] =>
    isSo ? [warning(warnings[code], message)] : []
  return [
    ...warn(database === 'down', 'collector_database_down', 'its database is unavailable'),
    ...warn(storage === 'full', 'collector_storage_full', 'its storage is full'),
    ...warn(
      isEnding && storage !== 'full',
      'collector_storage_ends_soon',
      `at the growth of the last four weeks its limit of bytes is reached on ${fullOn}`,
    ),
    ...warn(clock === 'skewed', 'collector_clock_skewed', 'its clock and PostgreSQL differ'),
    ...warn(days > 0, 'collector_retention_late', `${days} expired days are still kept`),
    ...warn(rollUps === 'late', 'collector_roll_ups_late', 'its roll-ups are late'),
    ...warn(failure !== null, 'collector_archive_failing', `archived days: ${failure}`),
  ]
}

const UNRECOGNIZED = warning(
  warnings.collector_unrecognized,
  'HTTP 200 without a health report: something else may answer at COLLECTOR_URL',
)
