import type { Context } from 'hono'
import * as v from 'valibot'
import { getDefinition } from '../../../platform/automations/automations.ts'
import { inputFields } from '../../../platform/definitions/crew-inputs.ts'
import {
  caseRow,
  readCsvCases,
  readJsonLines,
  toJsonLine,
} from '../../../platform/evaluations/case-files.ts'
import { CASES_OF_RUNS_MAX, eachCase, listCaseInputs } from '../../../platform/evaluations/cases.ts'
import type { CaseFields } from '../../../platform/evaluations/cases.ts'
import type { CaseSet, OwnCaseSet } from '../../../platform/evaluations/case-sets.ts'
import { eachResult } from '../../../platform/evaluations/evaluation-results.ts'
import type { CaseOutcome } from '../../../platform/evaluations/evaluation-results.ts'
import { RATINGS } from '../../../platform/traces/trace-notes.ts'
import { csvRow } from '../../../shared/csv.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Database, Queryable } from '../../../shared/postgres/database.ts'
import { trueOrFalse, whole } from '../../../shared/schemas.ts'
import { streamParts } from '../../http/stream-parts.ts'

/** The largest file of cases, in bytes. */
export const CASES_BYTES_MAX = 16 * 1024 * 1024
const COLUMNS_MAX = 190

/** Which runs become cases. */
export const runChoice = v.pipe(
  v.strictObject({
    kickoff_ids: v.optional(
      v.pipe(
        v.array(v.pipe(v.string('must be a text'), v.uuid('must be a kickoff id'))),
        v.maxLength(CASES_OF_RUNS_MAX, `must have at most ${CASES_OF_RUNS_MAX} ids`),
      ),
      [],
    ),
    last: v.optional(whole(1, CASES_OF_RUNS_MAX), 20),
    status: v.optional(v.picklist(['any', 'completed', 'error']), 'any'),
    rated: v.optional(v.nullable(v.picklist(RATINGS, 'must be good or bad')), null),
    with_expected: v.optional(trueOrFalse, false),
  }),
  v.transform(({ kickoff_ids: kickoffIds, with_expected: withExpected, ...choice }) => ({
    ...choice,
    kickoffIds,
    withExpected,
    last: kickoffIds.length > 0 ? kickoffIds.length : choice.last,
  })),
)

interface Given {
  readonly format: 'jsonl' | 'csv'
  readonly bytes: Uint8Array
  /** Its automation says which inputs are texts. */
  readonly set: Pick<OwnCaseSet, 'projectVersionId'>
}

/** Reads a file of cases, one by one. */
export async function readCases(
  sql: Queryable,
  { format, bytes, set }: Given,
): Promise<Iterable<CaseFields>> {
  if (format === 'jsonl') return readJsonLines(bytes)
  const fields = inputFields(await getDefinition(sql, set))
  const typed = fields.filter(({ type = 'string' }) => type !== 'string' && type !== 'file')
  return readCsvCases(bytes, new Set(typed.map(({ name }) => name)))
}

/** Sends all cases of a set as a file. Raises `unprocessable` for too many columns of CSV. */
export async function sendCases(
  c: Context,
  sql: Database,
  { set, format }: { readonly set: CaseSet; readonly format: 'jsonl' | 'csv' },
): Promise<Response> {
  if (format === 'jsonl') return sendLines(c, 'cases.jsonl', lines())
  const names = await listCaseInputs(sql, set, COLUMNS_MAX)
  if (names.length > COLUMNS_MAX || names.some((each) => each === 'name' || each === 'expected')) {
    throw new AppError(
      'unprocessable',
      'The inputs of these cases do not fit CSV. Take JSON lines.',
    )
  }
  return sendLines(c, 'cases.csv', rows(names))

  async function* lines(): AsyncGenerator<string> {
    for await (const each of eachCase(sql, set)) yield toJsonLine(each)
  }
  async function* rows(inputs: readonly string[]): AsyncGenerator<string> {
    yield csvRow(['name', 'expected', ...inputs])
    for await (const each of eachCase(sql, set)) yield caseRow(each, inputs)
  }
}

const RESULT_HEAD =
  'case_id name version repetition state reason inputs expected output tools tokens usd ms'

/** Sends all results of an evaluation as CSV. */
export function sendResults(c: Context, sql: Database, id: string): Response {
  return sendLines(c, 'evaluation.csv', rows())

  async function* rows(): AsyncGenerator<string> {
    yield csvRow(RESULT_HEAD.split(' '))
    for await (const each of eachResult(sql, id)) yield resultRow(each)
  }
}

const resultRow = (result: CaseOutcome): string =>
  csvRow([
    result.caseId,
    result.name ?? '',
    result.version,
    result.repetition,
    result.state,
    result.reason ?? '',
    JSON.stringify(result.inputs),
    result.expected ?? '',
    result.output ?? '',
    result.tools.join(' '),
    result.tokens ?? '',
    result.usd ?? '',
    result.ms ?? '',
  ])

function sendLines(c: Context, name: string, texts: AsyncGenerator<string>): Response {
  const encoder = new TextEncoder()
  async function* parts(): AsyncGenerator<Uint8Array> {
    for await (const text of texts) yield encoder.encode(text)
  }
  return c.body(streamParts(parts()), 200, {
    'content-type': name.endsWith('.csv') ? 'text/csv; charset=utf-8' : 'application/jsonl',
    'content-disposition': `attachment; filename="${name}"`,
    'content-security-policy': 'sandbox',
    'x-content-type-options': 'nosniff',
  })
}
