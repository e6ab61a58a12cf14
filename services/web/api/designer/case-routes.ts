import type { Context, Hono } from 'hono'
import { caseBody } from '../../../platform/evaluations/case-files.ts'
import { findCaseSetOf } from '../../../platform/evaluations/case-sets.ts'
import type { OwnCaseSet } from '../../../platform/evaluations/case-sets.ts'
import { addCases, addRuns, deleteCase, listCases } from '../../../platform/evaluations/cases.ts'
import type { Case } from '../../../platform/evaluations/cases.ts'

import { AppError } from '../../../shared/errors.ts'
import { readJson } from '../../../shared/http/json-body.ts'
import { mediaType, readBody } from '../../../shared/http/request-body.ts'
import type { Database, Transaction } from '../../../shared/postgres/database.ts'
import { casesEntry } from '../../gate/callers/audit-entries.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import { parseBody } from '../../http/parse-body.ts'
import { CASES_BYTES_MAX, readCases, runChoice, sendCases } from '../../intake/cases/case-files.ts'
import type { OrganizationCall, WebDeps } from '../../context.ts'
import { createApi } from '../api-room.ts'
import { readNumberPage, readRunBody, toPage } from './requests.ts'

const PATH = '/case-sets/:caseSetId/cases'
const CASE_BYTES_MAX = 1024 * 1024
const FORMATS: Readonly<Record<string, 'jsonl' | 'csv'>> = {
  'text/csv': 'csv',
  'application/jsonl': 'jsonl',
  'application/x-ndjson': 'jsonl',
}

/** The cases of a set, beside the routes of its resource. */
export function designerCaseRoutes(deps: WebDeps): Hono<OrganizationCall> {
  const { sql } = deps
  const audited = createAudited(sql)
  const api = createApi(deps)
  const getSet = createFinder(sql)

  api.get('viewer', PATH, async (c) => {
    const set = await getSet(c)
    const page = readNumberPage(c)
    const { limit, cursor: after = -1 } = page
    const cases = await listCases(sql, set, { after, limit: limit + 1 })
    const { items, next_cursor } = toPage(cases, page, {
      show: caseDocument,
      cursorOf: ({ position }) => position,
    })
    return c.json({ cases: items, next_cursor })
  })

  for (const format of ['jsonl', 'csv'] as const) {
    api.get('viewer', `/case-sets/:caseSetId/cases.${format}`, async (c) =>
      sendCases(c, sql, { set: await getSet(c), format }),
    )
  }

  api.delete('editor', `${PATH}/:caseId`, async (c) => {
    const set = await getSet(c)
    const isDone = await audited(
      c.var,
      (tx) => deleteCase(tx, set, c.req.param('caseId') ?? ''),
      (done) => (done ? casesEntry(set, { deleted: 1 }) : undefined),
    )
    if (!isDone) throw new AppError('not_found', 'This set has no such case.')
    return c.body(null, 204)
  })

  addRoutes(deps, api)
  return api.routes()
}

const createFinder = (sql: Database) => async (c: Context<OrganizationCall>) => {
  const { organizationId } = c.var.caller
  const set = await findCaseSetOf(sql, { id: c.req.param('caseSetId') ?? '', organizationId })
  if (set) return set
  throw new AppError('not_found', 'Your organization has no such set of cases.')
}

/** Adds the routes that add cases. */
function addRoutes(deps: WebDeps, api: ReturnType<typeof createApi>): void {
  const { sql } = deps
  const audited = createAudited(sql)
  const getSet = createFinder(sql)

  async function add(
    c: Context<OrganizationCall>,
    set: OwnCaseSet,
    how: (tx: Transaction) => Promise<number>,
  ): Promise<Response> {
    const added = await audited(c.var, how, (count) => casesEntry(set, { added: count }))
    return c.json({ added }, 201)
  }

  api.post('editor', PATH, async (c) => {
    const set = await getSet(c)
    const given = parseBody(caseBody, await readJson(c.req.raw, CASE_BYTES_MAX))
    return add(c, set, (tx) => addCases(tx, set, [given]))
  })

  api.post('editor', `/case-sets/:caseSetId/import`, async (c) => {
    const set = await getSet(c)
    const format = FORMATS[mediaType(c.req.raw)]
    if (!format) {
      const wanted = Object.keys(FORMATS).join(' or ')
      throw new AppError('unsupported_media_type', `Send the cases as ${wanted}.`)
    }
    const bytes = await readBody(c.req.raw, CASES_BYTES_MAX)
    const cases = await readCases(sql, { format, bytes, set })
    return add(c, set, (tx) => addCases(tx, set, cases))
  })

  api.post('editor', `/case-sets/:caseSetId/from-runs`, async (c) => {
    const set = await getSet(c)
    const choice = parseBody(runChoice, await readRunBody(c))
    return add(c, set, (tx) => addRuns(tx, set, choice))
  })
}

const caseDocument = ({ id, name, inputs, expected, runId }: Case) => ({
  id,
  name,
  inputs,
  expected,
  kickoff_id: runId,
})
