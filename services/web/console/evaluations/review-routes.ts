import { html } from 'hono/html'
import type { Hono } from 'hono'
import type { Automation } from '../../../platform/automations/automations.ts'
import { isUuid } from '../../../platform/automations/automations.ts'
import { decideReview, listReviews, REVIEWED_KINDS } from '../../../platform/evaluations/reviews.ts'
import type { Review } from '../../../platform/evaluations/reviews.ts'
import { includesRole } from '../../../platform/people/memberships.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { RATINGS, TRACE_NOTE_MAX } from '../../../platform/traces/trace-notes.ts'
import { AppError } from '../../../shared/errors.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { reviewEntry } from '../../gate/callers/audit-entries.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import { runPath } from '../frame/addresses.ts'
import { automationHead } from '../frame/automation-tabs.ts'
import { plural, pretty } from '../frame/format.ts'
import { page as frame } from '../frame/layout.ts'
import { getOwnAutomation } from '../frame/own-automation.ts'
import { csrfField, emptyState, noticeBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { createRoom } from '../frame/room.ts'
import { renderText } from '../frame/text/text-view.ts'
import { visibleText } from '../frame/text/visible-text.ts'

const PATH = '/automations/:automationId/reviews'

/** Shows the answers that wait for a person, one at a time, and takes what the person finds. */
export function reviewPageRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql } = deps
  const audited = createAudited(sql)
  const { routes, page, form } = createRoom(deps, {
    'answer-rated': 'The rating is saved.',
    'answer-was-rated': 'Another person rated that answer first, and that rating counts.',
  })

  page('viewer', PATH, async (c) => {
    const { session, notice } = c.var
    const automation = await getOwnAutomation(c, sql)
    const [after, before] = ['after', 'before'].map((name) => readPlace(c.req.query(name)))
    const of = { reviewer: String(session.user.id), limit: 1 }
    const [previous] = before
      ? await listReviews(sql, automation, { ...of, after: null, before })
      : []
    const next = { ...of, after: after ?? null }
    const [review] = previous ? [previous] : await listReviews(sql, automation, next)
    const isSkipping = Boolean(after ?? before)
    return c.html(reviewPage({ session, automation, review, notice, isSkipping }))
  })

  form('editor', PATH, async (c) => {
    const automation = await getOwnAutomation(c, sql)
    const said = readDecision(c.var.form)
    const decision = { ...said, authorId: c.var.session.user.id }
    let notice = 'answer-rated'
    try {
      await audited(
        c.var,
        (tx) => decideReview(tx, automation, decision),
        (done) => reviewEntry(said, done),
      )
    } catch (thrown) {
      if (!(thrown instanceof AppError) || thrown.code !== 'conflict') throw thrown
      notice = 'answer-was-rated'
    }
    const after = readPlace(c.var.form.get('after'))
    const query = new URLSearchParams({ ...(after && { after }), notice })
    return c.redirect(`/automations/${automation.automationId}/reviews?${query.toString()}`, 303)
  })

  return routes
}

const readPlace = (given: string | null | undefined): string | undefined =>
  given && isUuid(given) ? given : undefined

function readDecision(form: URLSearchParams) {
  const rating = RATINGS.find((each) => each === form.get('rating'))
  const kind = REVIEWED_KINDS.find((each) => each === form.get('kind'))
  const note = (form.get('note') ?? '').replaceAll('\r\n', '\n').replaceAll('\0', '').trim()
  if (!rating || !kind) throw new AppError('invalid_request', 'Go back and choose good or bad.')
  if (note.length <= TRACE_NOTE_MAX) return { rating, kind, note, id: form.get('id') ?? '' }
  throw new AppError(
    'invalid_request',
    `A note has at most ${TRACE_NOTE_MAX} characters (given: ${note.length}). Go back and ` +
      'shorten it.',
  )
}

interface ReviewPage {
  readonly session: Session
  readonly automation: Automation
  /** undefined: nothing waits. */
  readonly review: Review | undefined
  readonly notice: string | undefined
  /** Some were left out before. */
  readonly isSkipping: boolean
}

function reviewPage({ session, automation, review, notice, isSkipping }: ReviewPage): Html {
  const path = `/automations/${automation.automationId}`
  const hint = review ? `${plural(review.waiting, 'answer')} waiting for a person` : ''
  const aside = html`<a class="button push" href="${path}/score-rules">Rule</a>`
  return frame(
    { title: `${automation.name}: reviews`, session, current: '/automations' },
    html`${automationHead({ automation, tab: 'design', title: 'Reviews', hint, aside })}
    ${noticeBox(notice)}
    ${
      review
        ? oneReview(review, { session, automation, isSkipping })
        : html`<section class="card" aria-label="Reviews">
            ${emptyState('check', 'Nothing waits', nothing(path, isSkipping))}
          </section>`
    }`,
  )
}

const nothing = (path: string, isSkipping: boolean): Html =>
  isSkipping
    ? html`<a href="${path}/reviews">Show those that were skipped</a>`
    : html`A share of the runs waits here once the <a href="${path}/score-rules">rule</a> says so,
        and what evaluations put out that no check could judge.`

function oneReview(
  review: Review,
  { session, automation, isSkipping }: Pick<ReviewPage, 'session' | 'automation' | 'isSkipping'>,
): Html {
  const { kind, id, version, evaluationId, expected, output, reason } = review
  const path = `/automations/${automation.automationId}`
  const from = kind === 'run' ? runPath(automation, { id }) : `${path}/evaluations/${evaluationId}`
  const text = kind === 'run' ? 'The run' : 'The evaluation'
  return html`<div class="columns">
    <div>
      <section class="card" aria-labelledby="output">
        <div class="card-head">
          <h2 id="output">Output</h2>
          ${version === null ? '' : html`<span class="hint">version ${version}</span>`}
          <a class="push" href="${from}">${text}</a>
        </div>
        ${
          output.trim() === ''
            ? html`<p class="hint">The output is empty.</p>`
            : html`<div class="output" tabindex="0" role="group" aria-label="Output">
                ${renderText(output)}
              </div>`
        }
      </section>
      ${
        expected === null
          ? ''
          : html`<section class="card" aria-labelledby="expected">
              <div class="card-head"><h2 id="expected">Expected output</h2></div>
              ${renderText(expected)}
            </section>`
      }
    </div>
    <div>
      ${
        session.role !== null && includesRole(session.role, 'editor')
          ? decisionSection(review, {
              csrfToken: session.csrfToken,
              path: `${path}/reviews`,
              isSkipping,
            })
          : ''
      }
      ${inputsSection(review)}
      ${reason === null ? '' : html`<p class="hint break">${visibleText(reason)}</p>`}
    </div>
  </div>`
}

interface Rated extends Pick<ReviewPage, 'isSkipping'> {
  readonly csrfToken: string
  readonly path: string
}

const decisionSection = (
  { kind, id, place }: Review,
  { csrfToken, path, isSkipping }: Rated,
): Html =>
  html`<section class="card" aria-labelledby="rating">
    <div class="card-head"><h2 id="rating">Rating</h2></div>
    <form method="post" action="${path}" class="stack">
      ${csrfField(csrfToken)}
      <input type="hidden" name="kind" value="${kind}" />
      <input type="hidden" name="id" value="${id}" />
      ${isSkipping ? html`<input type="hidden" name="after" value="${place}" />` : ''}
      <label
        >Note <span class="quiet">(optional)</span>
        <textarea
          name="note"
          rows="3"
          maxlength="${TRACE_NOTE_MAX}"
          data-key="n"
          data-key-name="The note, and Esc to leave it"
        ></textarea>
      </label>
      <div class="buttons">
        <button
          class="button primary"
          name="rating"
          value="good"
          data-key="+"
          data-key-name="The answer is good"
        >
          Good
        </button>
        <button
          class="button"
          name="rating"
          value="bad"
          data-key="-"
          data-key-name="The answer is bad"
        >
          Bad
        </button>
        <a
          class="button"
          href="${path}?after=${place}"
          data-key="j"
          data-key-name="Skip to the next answer"
          >Skip</a
        >
        <a
          class="button"
          href="${path}?before=${place}"
          data-key="k"
          data-key-name="The answer before"
          >Previous</a
        >
      </div>
      <p class="hint" data-keys-hint hidden>
        Keys: + good, − bad, j next, k previous, n note, ? all
      </p>
    </form>
  </section>`

const inputsSection = ({ inputs }: Review): Html =>
  html`<section class="card" aria-labelledby="inputs">
    <div class="card-head"><h2 id="inputs">Inputs</h2></div>
    <dl class="facts">
      ${Object.entries(inputs).map(
        ([name, value]) =>
          html`<dt class="mono break">${visibleText(name)}</dt>
            <dd>${renderText(typeof value === 'string' ? value : pretty(value))}</dd>`,
      )}
    </dl>
  </section>`
