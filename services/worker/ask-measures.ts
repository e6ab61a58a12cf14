import * as v from 'valibot'
import type { MeasureTraces } from '../platform/alerts/measure-trace-alerts.ts'
import { callCollector, readText } from '../shared/collector-call.ts'
import type { CollectorPlace } from '../shared/collector-call.ts'
import { deadline } from '../shared/deadline.ts'
import { AppError } from '../shared/errors.ts'
import { traceMeasures } from '../shared/trace-answers/measures.ts'
import type { TraceMeasure } from '../shared/trace-answers/measures.ts'

/** A look has a transaction open meanwhile. */
const CALL_MS = 7000
/** A thousand that look back over a day of many traces took longer than a statement may. */
const QUESTIONS_OF_CALL = 250
const LIMIT = { name: 'The trace collector', timeoutMs: CALL_MS }
const OLD = 'The trace collector is of a release that does not measure traces.'

/**
 * Asks the collector what traces add up to, of several organizations at a time. Raises
 * `unavailable`, `timeout` and `bad_gateway`.
 */
export const askMeasures =
  (collector: CollectorPlace): MeasureTraces =>
  async (questions, at) => {
    const found: TraceMeasure[] = []
    for (let first = 0; first < questions.length; first += QUESTIONS_OF_CALL) {
      const some = questions.slice(first, first + QUESTIONS_OF_CALL)
      const call = {
        path: '/traces/measures',
        method: 'POST',
        claims: { scopes: ['traces:read'] },
        body: JSON.stringify({ at: at.toISOString(), questions: some }),
        missing: OLD,
      } as const
      const text = await deadline(LIMIT, async (stop) =>
        readText(await callCollector(collector, call, stop)),
      )
      const read = v.safeParse(v.pipe(v.string(), v.parseJson(), traceMeasures), text)
      if (!read.success) {
        throw new AppError('bad_gateway', 'The trace collector answered with something else.')
      }
      const { measures } = read.output
      found.push(...measures.map((each) => ({ ...each, question: first + each.question })))
    }
    return found
  }
