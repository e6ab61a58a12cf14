import { RESULT_STATES } from '../../../platform/evaluations/evaluation-results.ts'
import {
  body,
  closed,
  integer,
  json,
  list,
  nullable,
  paging,
  parameter,
  problem,
  refusedTokens,
  retryAfter,
  schema,
  schemaOfBody,
  text,
  uuid,
} from './parts.ts'
import { caseBody } from '../../../platform/evaluations/case-files.ts'
import { overrideBody } from '../designer/version-routes.ts'
import { runChoice } from '../../intake/cases/case-files.ts'

const inputs = { type: 'object' }
const number = { type: 'number' }
const orNull = (of: object) => ({ oneOf: [{ type: 'null' }, of] })
const estimate = closed({ value: number, low: number, high: number })
const side = closed({
  cases: integer,
  passed: { ...integer, description: 'Those of which each repetition passes.' },
  flaky: { ...integer, description: 'Those of which some repetitions pass, and some do not.' },
  errors: { ...integer, description: 'Those of which something could not be judged.' },
  share: { ...estimate, description: 'The share that passed, with its 95 % interval.' },
  tokens: number,
  usd: nullable('number', { description: 'Null: a model has no price.' }),
  seconds: nullable('number', { description: 'The mean of a run.' }),
})
const finding = closed(
  {
    type: text,
    state: { ...text, enum: ['passed', 'failed', 'error', 'skipped'] },
    reason: text,
    prompt: { ...integer, description: 'The version of the prompt of a judge.' },
    tokens: number,
    usd: nullable('number'),
  },
  { required: ['type', 'state'] },
)

/** The schemas of cases, and of what versions make of them. */
export const EVALUATION_SCHEMAS = {
  CaseRequest: schemaOfBody(caseBody),
  CasesOfRunsRequest: schemaOfBody(runChoice),
  CasesAdded: closed({ added: integer }),
  Case: closed({
    id: uuid,
    name: nullable('string'),
    inputs,
    expected: nullable('string'),
    kickoff_id: nullable('string', { format: 'uuid', description: 'The run it was made of.' }),
  }),
  CaseList: closed({ cases: list(schema('Case')), next_cursor: nullable('string') }),
  Scores: closed({
    version: side,
    against: orNull(side),
    difference: orNull(
      closed({
        better: { ...integer, description: 'Cases that only the version passes.' },
        worse: { ...integer, description: 'Cases that only the one beside it passes.' },
        of: integer,
        share: { ...estimate, description: 'The difference of the shares.' },
      }),
    ),
  }),
  CaseResult: closed({
    case_id: uuid,
    name: nullable('string'),
    inputs,
    expected: nullable('string'),
    version: integer,
    repetition: integer,
    state: { ...text, enum: RESULT_STATES },
    reason: nullable('string'),
    output: nullable('string', { description: 'Its first 32,768 characters.' }),
    findings: list(finding),
    tools: list(text),
    tokens: nullable('number'),
    usd: nullable('number'),
    duration_ms: nullable('integer'),
  }),
  CaseResults: closed({ runs: list(schema('CaseResult')), next_cursor: nullable('string') }),
  OverrideRequest: schemaOfBody(overrideBody),
  PublicationPending: closed({
    state: { ...text, enum: ['pending'] },
    gates: list(
      closed({
        set: text,
        state: { ...text, enum: ['passed', 'pending', 'refused'] },
        reason: text,
        evaluation_id: nullable('string', { format: 'uuid' }),
        evaluation: nullable('string', { description: 'Its address.' }),
        cases: list(
          closed({ case_id: uuid, name: nullable('string'), reason: nullable('string') }),
        ),
      }),
    ),
  }),
  ChangedCases: closed({
    changes: list(
      closed({
        case_id: uuid,
        name: nullable('string'),
        inputs,
        change: { ...text, enum: ['better', 'worse'] },
        reason: nullable('string'),
      }),
    ),
  }),
}

const COMMON = {
  ...refusedTokens('No token of the whole organization, and no session.'),
  '403': problem('A role in the organization, or a scope of the token, that does not allow this.'),
  '404': problem('The organization has no such set or evaluation.'),
  '503': problem('The database is unavailable. Try again.', retryAfter),
}
const ADDED = {
  '201': json('They are added, all or none.', 'CasesAdded'),
  ...COMMON,
  '400': problem('The body cannot be read; of a file, with the line.'),
  '409': problem('The set has as many cases as it may.'),
  '413': problem('The body is too large.'),
  '415': problem('Another media type.'),
  '422': problem('A case is not valid; of a file, with the line.'),
}
const file = (type: string) => ({
  '200': { description: 'A file.', content: { [type]: { schema: text } } },
  ...COMMON,
})
const operation = (operationId: string, summary: string, rest: object) => ({
  operationId,
  tags: ['Designer'],
  summary,
  ...rest,
})
const set = '/designer/v2/case-sets/{case_set_id}'
const cases = `${set}/cases`
const evaluation = '/designer/v2/evaluations/{evaluation_id}'
const ofSet = [parameter('case_set_id', 'path')]
const ofEvaluation = [parameter('evaluation_id', 'path')]
const NOT_VALID = { '400': problem('A parameter is not valid.') }

/** The paths of cases, and of what versions make of them. */
export const EVALUATION_PATHS = {
  [cases]: {
    parameters: ofSet,
    get: operation('listCases', 'The cases of a set, in the order in which they were added', {
      parameters: paging,
      responses: { '200': json('A page.', 'CaseList'), ...COMMON, ...NOT_VALID },
    }),
    post: operation('addCase', 'Add a case', {
      requestBody: body('CaseRequest', { inputs: { topic: 'tides' }, expected: 'The moon' }),
      responses: ADDED,
    }),
  },
  [`${set}/import`]: {
    parameters: ofSet,
    post: operation('importCases', 'Add cases of JSON lines or CSV', {
      requestBody: {
        required: true,
        content: { 'application/jsonl': { schema: text }, 'text/csv': { schema: text } },
      },
      responses: ADDED,
    }),
  },
  [`${set}/from-runs`]: {
    parameters: ofSet,
    post: operation('addCasesOfRuns', 'Make cases of runs', {
      requestBody: body('CasesOfRunsRequest', { last: 20, rated: 'bad' }),
      responses: ADDED,
    }),
  },
  [`${cases}.jsonl`]: {
    parameters: ofSet,
    get: operation('exportCasesAsJsonLines', 'All cases, as JSON lines', {
      responses: file('application/jsonl'),
    }),
  },
  [`${cases}.csv`]: {
    parameters: ofSet,
    get: operation('exportCasesAsCsv', 'All cases, as CSV', {
      responses: { ...file('text/csv'), '422': problem('The inputs do not fit CSV.') },
    }),
  },
  [`${cases}/{case_id}`]: {
    parameters: [...ofSet, parameter('case_id', 'path')],
    delete: operation('deleteCase', 'Delete a case, with what versions made of it', {
      responses: { '204': { description: 'It is deleted.' }, ...COMMON },
    }),
  },
  [`${evaluation}/runs`]: {
    parameters: ofEvaluation,
    get: operation('listCaseResults', 'What versions made of each case', {
      parameters: [
        ...paging,
        parameter('state', 'query', { schema: { ...text, enum: RESULT_STATES } }),
      ],
      responses: { '200': json('A page.', 'CaseResults'), ...COMMON, ...NOT_VALID },
    }),
  },
  [`${evaluation}/runs.csv`]: {
    parameters: ofEvaluation,
    get: operation('exportCaseResults', 'What versions made of each case, as CSV', {
      responses: file('text/csv'),
    }),
  },
  [`${evaluation}/changes`]: {
    parameters: ofEvaluation,
    get: operation('listChangedCases', 'The cases that one of two versions passes', {
      responses: { '200': json('The first 1,000.', 'ChangedCases'), ...COMMON },
    }),
  },
}
