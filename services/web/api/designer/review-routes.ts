import * as v from 'valibot'
import { decideReview, listReviews, REVIEWED_KINDS } from '../../../platform/evaluations/reviews.ts'
import type { Review } from '../../../platform/evaluations/reviews.ts'
import { RATINGS, TRACE_NOTE_MAX } from '../../../platform/traces/trace-notes.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import { reviewEntry } from '../../gate/callers/audit-entries.ts'
import type { WebDeps } from '../../context.ts'
import type { ApiRoom } from '../api-room.ts'
import { jsonBody, operation } from '../openapi/operation.ts'
import * as s from '../openapi/parts.ts'
import { getAutomation } from './get-automation.ts'
import { paged, pagesOf, readUuidPage } from './requests.ts'

const PATH = '/automations/:automationId/reviews'

const reviewNote = v.pipe(
  v.string('must be a text'),
  v.trim(),
  v.maxLength(TRACE_NOTE_MAX, `must have at most ${TRACE_NOTE_MAX} characters`),
)

const reviewDocument = s.document(
  'Review',
  {
    kind: s.say(s.words(REVIEWED_KINDS), 'Of a run, or a result of an evaluation.'),
    id: s.say(s.uuid, 'Of the run (its kickoff id), or of the result.'),
    inputs: { type: 'object' },
    output: s.text,
    expected: s.say(s.perhapsText, 'Null: no output is known to be right.'),
    reason: s.say(s.perhapsText, 'Why no check could judge a result.'),
    evaluation_id: s.perhapsUuid,
    version: s.say(s.nullable('integer'), 'The number of the version that answered.'),
  },
  (row: Review) => row,
)
const reviews = pagesOf(['ReviewList', 'reviews'], reviewDocument, ({ place }) => place)
const decision = jsonBody(
  'ReviewDecision',
  v.strictObject({
    kind: v.picklist(REVIEWED_KINDS, `must be ${REVIEWED_KINDS.join(' or ')}`),
    id: v.pipe(v.string('must be a text'), v.uuid('must be a UUID')),
    rating: v.picklist(RATINGS, `must be ${RATINGS.join(' or ')}`),
    note: v.optional(reviewNote, ''),
  }),
  { example: { kind: 'run', id: '01994e5e-7d2b-7c31-9a5e-6f0d8c2b1a34', rating: 'good' } },
)

const list = operation('listReviews', 'The answers that wait for a person to rate them', {
  ...paged,
  200: reviews,
})
const decide = operation('rateAnswer', 'Rate an answer: the first rating counts', {
  body: decision,
  204: 'It is rated.',
  409: 'It is rated already.',
})

/** The answers of an automation that wait for a person. */
export function designerReviewRoutes(api: ApiRoom, deps: WebDeps): void {
  const { sql } = deps
  const audited = createAudited(sql)

  api.get('viewer', [PATH, list], async (c) => {
    const automation = await getAutomation(c, sql)
    const reviewer = String(c.var.caller.userId)
    const page = await reviews.read(readUuidPage(c), ({ limit, cursor: after = null }) =>
      listReviews(sql, automation, { reviewer, after, limit }),
    )
    return c.json(page)
  })

  api.post('editor', [PATH, decide], async (c) => {
    const automation = await getAutomation(c, sql)
    const given = await decision.read(c)
    const { userId: authorId } = c.var.caller
    await audited(
      c.var,
      (tx) => decideReview(tx, automation, { ...given, authorId }),
      (done) => reviewEntry(given, done),
    )
    return c.body(null, 204)
  })
}
