import type { Hono } from 'hono'
import { AppError } from '../../../shared/errors.ts'
import { traceQuestions } from '../../../shared/trace-answers/measures.ts'
import type { ReadEnv } from '../admit-read.ts'
import type { ReadView } from '../read-metrics.ts'
import type { Reader } from '../reader.ts'
import { readBody, requireNoParameters } from '../read-query.ts'
import { countByTime, readHistogramQuery } from './histogram.ts'
import { listSessions, readSessionQuery } from './sessions.ts'
import { withQuery } from './trace-filter.ts'
import { listTraces, readListQuery } from './trace-list.ts'
import { measureTraces } from './trace-measures.ts'
import { readTotalsQuery, totalGroups, totalTraces } from './trace-totals.ts'
import { readUsageQuery, sumUsage } from './usage-totals.ts'

/** A question that has no more than its parameters. */
interface Question {
  readonly path: string
  readonly view: ReadView
  readonly answer: (reader: Reader, parameters: URLSearchParams) => Promise<object>
}

const QUESTIONS: readonly Question[] = [
  {
    path: '/traces',
    view: 'list',
    answer: (reader, given) => listTraces(reader, readListQuery(withQuery(given))),
  },
  {
    path: '/traces/histogram',
    view: 'histogram',
    answer: (reader, given) => countByTime(reader, readHistogramQuery(withQuery(given))),
  },
  {
    path: '/traces/totals',
    view: 'totals',
    answer(reader, given) {
      const { filter, by } = readTotalsQuery(withQuery(given))
      return by === undefined ? totalTraces(reader, filter) : totalGroups(reader, filter, by)
    },
  },
  {
    path: '/usage',
    view: 'usage',
    answer: (reader, given) => sumUsage(reader, readUsageQuery(given)),
  },
  {
    path: '/sessions',
    view: 'sessions',
    answer: (reader, given) => listSessions(reader, readSessionQuery(given)),
  },
]

/** The paths of `addListRoutes`, below `/api`. */
export const LIST_PATHS: readonly string[] = QUESTIONS.map(({ path }) => path)

/** Adds what is asked of many traces; before `/traces/:id`, which has the same form. */
export function addListRoutes(app: Hono<ReadEnv>): void {
  for (const { path, view, answer } of QUESTIONS) {
    app.get(path, async (c) => {
      c.set('view', view)
      const body = await answer(c.var.reader, new URL(c.req.url).searchParams)
      return c.json(body, 200, { 'cache-control': 'no-store' })
    })
  }
  app.post('/traces/measures', async (c) => {
    c.set('view', 'measures')
    requireNoParameters(new URL(c.req.url).searchParams)
    const { questions, at } = await readBody(c.req.raw, traceQuestions)
    const { reader } = c.var
    const { organization: own } = reader
    if (own !== undefined && questions.some(({ organization }) => organization !== own)) {
      throw new AppError('forbidden', 'A token of an organization measures its own traces alone.')
    }
    const measures = await measureTraces(reader, questions, at)
    return c.json({ measures }, 200, { 'cache-control': 'no-store' })
  })
}
