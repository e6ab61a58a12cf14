import type { Context } from 'hono'
import { caseBody } from '../../../platform/evaluations/case-files.ts'
import { findCaseSetOf } from '../../../platform/evaluations/case-sets.ts'
import type { OwnCaseSet } from '../../../platform/evaluations/case-sets.ts'
import { addCases, addRuns, deleteCase, listCases } from '../../../platform/evaluations/cases.ts'
import type { Case } from '../../../platform/evaluations/cases.ts'
import { AppError } from '../../../shared/errors.ts'
import { mediaType, readBody } from '../../../shared/http/request-body.ts'
import type { Database, Transaction } from '../../../shared/postgres/database.ts'
import { casesEntry } from '../../gate/callers/audit-entries.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import { CASES_BYTES_MAX, readCases, runChoice, sendCases } from '../../intake/cases/case-files.ts'
import type { OrganizationCall, WebDeps } from '../../context.ts'
import type { ApiRoom } from '../api-room.ts'
import * as s from '../openapi/parts.ts'
import { jsonBody, operation } from '../openapi/operation.ts'
import { paged, pagesOf, readNumberPage, ROW_TYPES } from './requests.ts'

const SET = '/case-sets/:caseSetId'
const PATH = `${SET}/cases`
const CASE_BYTES_MAX = 1024 * 1024

const caseDocument = s.document(
  'Case',
  {
    id: s.uuid,
    name: s.perhapsText,
    inputs: { type: 'object' },
    expected: s.perhapsText,
    kickoff_id: s.say(s.perhapsUuid, 'The run it was made of.'),
  },
  ({ runId, ...row }: Case) => ({ ...row, kickoffId: runId }),
)
const cases = pagesOf(['CaseList', 'cases'], caseDocument, ({ position }) => position)
const newCase = jsonBody('CaseRequest', caseBody, {
  example: { inputs: { topic: 'tides' }, expected: 'The moon' },
  bytesMax: CASE_BYTES_MAX,
})
const choiceOfRuns = jsonBody('CasesOfRunsRequest', runChoice, {
  example: { last: 20, rated: 'bad' },
})
const added = {
  201: ['They are added, all or none.', s.document('CasesAdded', { added: s.integer })],
  409: 'The set has as many cases as it may.',
} as const
const fileOf = (type: string) => ({
  200: { description: 'A file.', content: { [type]: { schema: s.text } } },
})

const list = operation('listCases', 'The cases of a set, in the order in which they were added', {
  ...paged,
  200: cases,
})
const add = operation('addCase', 'Add a case', { body: newCase, ...added })
const addOfRuns = operation('addCasesOfRuns', 'Make cases of runs', {
  body: choiceOfRuns,
  ...added,
})
const importAll = operation('importCases', 'Add cases of JSON lines or CSV', {
  body: { content: { 'application/jsonl': { schema: s.text }, 'text/csv': { schema: s.text } } },
  ...added,
  400: 'The body cannot be read, with the line.',
  413: 'The body is too large.',
  415: 'Another media type.',
  422: 'A case is not valid, with the line.',
})
const exportAll = {
  jsonl: operation('exportCasesAsJsonLines', 'All cases, as JSON lines', {
    ...fileOf('application/jsonl'),
  }),
  csv: operation('exportCasesAsCsv', 'All cases, as CSV', {
    ...fileOf('text/csv'),
    422: 'The inputs do not fit CSV.',
  }),
}
const remove = operation('deleteCase', 'Delete a case, with what versions made of it', {
  204: 'It is deleted.',
  409: 'A legal hold keeps it, or what versions made of it.',
})

/** The cases of a set, beside the routes of its resource. */
export function designerCaseRoutes(api: ApiRoom, deps: WebDeps): void {
  const { sql } = deps
  const audited = createAudited(sql)
  const getSet = createFinder(sql)

  api.get('viewer', [PATH, list], async (c) => {
    const set = await getSet(c)
    const page = await cases.read(readNumberPage(c), ({ limit, cursor: after = -1 }) =>
      listCases(sql, set, { after, limit }),
    )
    return c.json(page)
  })

  for (const format of ['jsonl', 'csv'] as const) {
    api.get('viewer', [`${PATH}.${format}`, exportAll[format]], async (c) =>
      sendCases(c, sql, { set: await getSet(c), format }),
    )
  }

  api.delete('editor', [`${PATH}/:caseId`, remove], async (c) => {
    const set = await getSet(c)
    const isDone = await audited(
      c.var,
      (tx) => deleteCase(tx, set, c.req.param('caseId') ?? ''),
      (done) => (done ? casesEntry(set, { deleted: 1 }) : undefined),
    )
    if (!isDone) throw new AppError('not_found', 'This set has no such case.')
    return c.body(null, 204)
  })

  addAdding(api, deps)
}

const createFinder = (sql: Database) => async (c: Context<OrganizationCall>) => {
  const { organizationId } = c.var.caller
  const set = await findCaseSetOf(sql, { id: c.req.param('caseSetId') ?? '', organizationId })
  if (set) return set
  throw new AppError('not_found', 'Your organization has no such set of cases.')
}

/** Adds the routes that add cases. */
function addAdding(api: ApiRoom, deps: WebDeps): void {
  const { sql } = deps
  const audited = createAudited(sql)
  const getSet = createFinder(sql)

  async function addTo(
    c: Context<OrganizationCall>,
    set: OwnCaseSet,
    how: (tx: Transaction) => Promise<number>,
  ): Promise<Response> {
    const count = await audited(c.var, how, (done) => casesEntry(set, { added: done }))
    return c.json({ added: count }, 201)
  }

  api.post('editor', [PATH, add], async (c) => {
    const set = await getSet(c)
    const given = await newCase.read(c)
    return addTo(c, set, (tx) => addCases(tx, set, [given]))
  })

  api.post('editor', [`${SET}/import`, importAll], async (c) => {
    const set = await getSet(c)
    const format = ROW_TYPES[mediaType(c.req.raw)]
    if (!format) {
      const wanted = Object.keys(ROW_TYPES).join(' or ')
      throw new AppError('unsupported_media_type', `Send the cases as ${wanted}.`)
    }
    const bytes = await readBody(c.req.raw, CASES_BYTES_MAX)
    const given = await readCases(sql, { format, bytes, set })
    return addTo(c, set, (tx) => addCases(tx, set, given))
  })

  api.post('editor', [`${SET}/from-runs`, addOfRuns], async (c) => {
    const set = await getSet(c)
    const choice = await choiceOfRuns.read(c)
    return addTo(c, set, (tx) => addRuns(tx, set, choice))
  })
}
