import * as v from 'valibot'
import { AppError } from '../../shared/errors.ts'
import * as lists from '../../shared/trace-answers/lists.ts'
import { searchPage, skeleton, spanView } from '../../shared/trace-answers/one-trace.ts'

const reading =
  <Schema extends v.GenericSchema>(schema: Schema, what: string) =>
  (document: unknown): v.InferOutput<Schema> => {
    const read = v.safeParse(schema, document)
    if (read.success) return read.output
    throw new AppError(
      'bad_gateway',
      `The trace collector answered with something that is no ${what}.`,
    )
  }

/** Each raises `bad_gateway` for a document that is not what the collector answers. */
export const readAnswers = {
  traces: reading(lists.tracePage, 'list of traces'),
  histogram: reading(lists.histogram, 'histogram'),
  totals: reading(lists.totals, 'sum'),
  groupedTotals: reading(lists.groupedTotals, 'sum of groups'),
  sessions: reading(lists.sessionPage, 'list of sessions'),
  usage: reading(lists.usage, 'sum of calls'),
  skeleton: reading(skeleton, 'trace'),
  span: reading(spanView, 'span'),
  search: reading(searchPage, 'search'),
}
