import type { Context, Hono } from 'hono'
import type * as v from 'valibot'
import { isUuid } from '../../../platform/automations/automations.ts'
import { findCaseSetOf } from '../../../platform/evaluations/case-sets.ts'
import { addCases, addRuns, deleteCase } from '../../../platform/evaluations/cases.ts'
import { findEvaluation } from '../../../platform/evaluations/evaluations.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { casesEntry } from '../../gate/callers/audit-entries.ts'
import { parseBody } from '../../http/parse-body.ts'
import { readCases, runChoice, sendCases, sendResults } from '../../intake/cases/case-files.ts'
import { getOwnAutomation } from '../frame/own-automation.ts'
import { createRoom } from '../frame/room.ts'
import { evaluationSection } from './evaluation-section.ts'

const SET = '/automations/:automationId/case-sets/:caseSetId'
const EVALUATION = '/automations/:automationId/evaluations/:evaluationId'
const FORM_BYTES_MAX = 2 * 1024 * 1024

/** Serves what stands beside the pages of sets of cases, and of evaluations. */
export function evaluationPageRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql } = deps
  const notices = {
    'cases-added': 'The cases are added. Those that the set had already are not added again.',
    'case-deleted': 'The case is deleted.',
  }
  const { routes, page, action } = createRoom(deps, notices, FORM_BYTES_MAX)

  action('editor', `${SET}/from-runs`, {
    async find(c) {
      return { ...(await getOwnSet(c, sql)), choice: readChoice(c.var.form) }
    },
    change: (tx, { set, choice }) => addRuns(tx, set, choice),
    entry: ({ set }, added) => (added > 0 ? casesEntry(set, { added }) : undefined),
    done: ({ path }) => [path, 'cases-added'],
  })

  action('editor', `${SET}/import`, {
    async find(c) {
      const own = await getOwnSet(c, sql)
      const format = c.var.form.get('format') === 'csv' ? 'csv' : 'jsonl'
      const bytes = Buffer.from(c.var.form.get('cases') ?? '')
      return { ...own, cases: await readCases(sql, { format, bytes, set: own.set }) }
    },
    change: (tx, { set, cases }) => addCases(tx, set, cases),
    entry: ({ set }, added) => (added > 0 ? casesEntry(set, { added }) : undefined),
    done: ({ path }) => [path, 'cases-added'],
  })

  action('editor', `${SET}/cases/:caseId/delete`, {
    async find(c) {
      return { ...(await getOwnSet(c, sql)), caseId: c.req.param('caseId') ?? '' }
    },
    change: (tx, { set, caseId }) => deleteCase(tx, set, caseId),
    entry: ({ set }, isDone) => (isDone ? casesEntry(set, { deleted: 1 }) : undefined),
    done: ({ path }) => [path, 'case-deleted'],
  })

  for (const format of ['jsonl', 'csv'] as const) {
    page('viewer', `${SET}/cases.${format}`, async (c) =>
      sendCases(c, sql, { set: (await getOwnSet(c, sql)).set, format }),
    )
  }

  page('viewer', `${EVALUATION}/live`, async (c) => {
    const { owner, row, path } = await getOwnEvaluation(c, sql)
    const etag = `W/"${row.waiting}-${row.finishedAt === null}"`
    if (c.req.header('if-none-match') === etag) return c.body(null, 304, { etag })
    return c.html(await evaluationSection({ sql, owner, row, path }), 200, { etag })
  })

  page('viewer', `${EVALUATION}/runs.csv`, async (c) =>
    sendResults(c, sql, (await getOwnEvaluation(c, sql)).row.id),
  )

  return routes
}

async function getOwnSet(c: Context<SignedIn>, sql: Database) {
  const { automationId, id: deploymentId, organizationId } = await getOwnAutomation(c, sql)
  const set = await findCaseSetOf(sql, { id: c.req.param('caseSetId') ?? '', organizationId })
  if (set?.deploymentId === deploymentId) {
    return { set, path: `/automations/${automationId}/case-sets/${set.id}` }
  }
  throw new AppError('not_found', 'This automation has no such set of cases.')
}

function readChoice(form: URLSearchParams): v.InferOutput<typeof runChoice> {
  const which = form.get('which') ?? 'any'
  const chosen = which === 'bad' || which === 'good' ? { rated: which } : { status: which }
  return parseBody(runChoice, {
    ...chosen,
    last: Number(form.get('last') ?? ''),
    with_expected: form.has('with_expected'),
  })
}

async function getOwnEvaluation(c: Context<SignedIn>, sql: Database) {
  const owner = await getOwnAutomation(c, sql)
  const id = c.req.param('evaluationId') ?? ''
  const row = isUuid(id) ? await findEvaluation(sql, { id, deploymentId: owner.id }) : undefined
  if (row) return { owner, row, path: `/automations/${owner.automationId}/evaluations/${id}` }
  throw new AppError('not_found', 'This automation has no such evaluation.')
}
