import type { Context } from 'hono'
import * as v from 'valibot'
import { parseCrewDefinition } from '../../../platform/definitions/crew-definition.ts'
import type { CrewDefinition } from '../../../platform/definitions/crew-definition.ts'
import type { RowFormat } from '../../../platform/batches/read-rows.ts'
import { isUuid } from '../../../platform/automations/automations.ts'
import {
  findProject,
  PROJECT_NAME,
  projectNameProblem,
} from '../../../platform/projects/projects.ts'
import type { Project } from '../../../platform/projects/projects.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import type { OrganizationCall } from '../../context.ts'
import { AppError } from '../../../shared/errors.ts'
import { checked } from '../../http/parse-body.ts'
import type { Document } from '../openapi/parts.ts'
import { jsonBody } from '../openapi/operation.ts'
import * as s from '../openapi/parts.ts'
import type { Named } from '../openapi/parts.ts'
import { definitionSchema } from './documents.ts'

/** A version has up to 1 MiB of knowledge, which JSON makes longer. */
const VERSION_BYTES_MAX = 4 * 1024 * 1024
const ID_MAX = 2 ** 31 - 1
const PAGE = { standard: 20, max: 100 }

/** The types of files with a row for each run or case. */
export const ROW_TYPES: Readonly<Record<string, RowFormat>> = {
  'text/csv': 'csv',
  'application/jsonl': 'jsonl',
  'application/x-ndjson': 'jsonl',
}

/** The body that names something new. */
export const nameBody = v.strictObject({
  name: checked(projectNameProblem, { pattern: PROJECT_NAME.source }),
})

/** A definition with an agent and a task. */
export const EXAMPLE_DEFINITION = {
  name: 'Newsletter',
  llm: { model: 'gpt-5.4-mini' },
  agents: [{ key: 'editor', role: 'Editor', goal: 'Write about {topic}' }],
  tasks: [
    {
      key: 'write',
      agent: 'editor',
      description: 'Write a newsletter about {topic}.',
      expected_output: '200 words',
    },
  ],
}
/** The body with the definition of a version. */
export const versionBody = jsonBody('VersionRequest', v.strictObject({ definition: v.unknown() }), {
  example: { definition: EXAMPLE_DEFINITION },
  bytesMax: VERSION_BYTES_MAX,
  more: s.closed({ definition: definitionSchema }),
})

/** Reads the definition of a version. */
export const readDefinition = async (c: Context): Promise<CrewDefinition> =>
  parseCrewDefinition((await versionBody.read(c)).definition)

/** Reads a number of the path. Raises `not_found` for anything else. */
export function readNumber(c: Context, name: string): number {
  const text = c.req.param(name) ?? ''
  const number = /^[1-9]\d{0,9}$/.test(text) ? Number(text) : Infinity
  if (number <= ID_MAX) return number
  throw new AppError('not_found', 'There is no such project or version: both have numbers.')
}

/** Returns the project that the path names. Raises `not_found`. */
export async function getProject(c: Context<OrganizationCall>, sql: Database): Promise<Project> {
  const id = readNumber(c, 'projectId')
  const project = await findProject(sql, { organizationId: c.var.caller.organizationId, id })
  if (project) return project
  throw new AppError('not_found', 'Your organization has no such project.')
}

/** The page of a list that a caller asks for. */
interface PageRequest<Cursor> {
  readonly limit: number
  /** Absent: the first page. */
  readonly cursor?: Cursor
}

/** The parameters that ask for a page, and what is wrong with others. */
export const paged = {
  parameters: [
    s.parameter('limit', 'query', {
      schema: { type: 'integer', minimum: 1, maximum: PAGE.max, default: PAGE.standard },
    }),
    s.parameter('cursor', 'query', {
      description: 'The next_cursor of the page before.',
      schema: { type: 'string', minLength: 1 },
    }),
  ],
  400: 'A parameter of the query is not valid.',
}

/** Reads `limit` and `cursor` of a list whose cursors are numbers. Raises `invalid_request`. */
export const readNumberPage = (c: Context): PageRequest<number> =>
  readPage(c, (cursor) =>
    /^\d{1,10}$/.test(cursor) && Number(cursor) <= ID_MAX ? Number(cursor) : undefined,
  )

/** Reads `limit` and `cursor` of a list whose cursors are UUIDs. Raises `invalid_request`. */
export const readUuidPage = (c: Context): PageRequest<string> =>
  readPage(c, (cursor) => (isUuid(cursor) ? cursor : undefined))

function readPage<Cursor>(
  c: Context,
  read: (text: string) => Cursor | undefined,
): PageRequest<Cursor> {
  const text = readSingle(c, 'cursor')
  const cursor = text === undefined ? undefined : read(text)
  if (text !== undefined && cursor === undefined) {
    throw new AppError('invalid_request', 'cursor is the next_cursor of an earlier page.')
  }
  const limit = readCount(c, 'limit', PAGE)
  return cursor === undefined ? { limit } : { limit, cursor }
}

/** Reads the share of the calls that a version takes. Raises `invalid_request`. */
export const readPercent = (c: Context): number =>
  readCount(c, 'percent', { standard: 100, max: 100 })

function readCount(
  c: Context,
  name: string,
  { standard, max }: { readonly standard: number; readonly max: number },
): number {
  const text = readSingle(c, name) ?? String(standard)
  const count = /^\d{1,3}$/.test(text) ? Number(text) : 0
  if (count >= 1 && count <= max) return count
  throw new AppError('invalid_request', `${name} is a number from 1 to ${max}.`)
}

/** Reads a parameter of the query. Raises `invalid_request` where it is given twice. */
export function readSingle(c: Context, name: string): string | undefined {
  const given = c.req.queries(name) ?? []
  if (given.length <= 1) return given[0]
  throw new AppError('invalid_request', `Give ${name} once.`)
}

interface Pages<Row> extends Named {
  /** Reads one of a list that `list` reads one item longer than the page. */
  readonly read: <Cursor>(
    asked: PageRequest<Cursor>,
    list: (asked: PageRequest<Cursor>) => Promise<readonly Row[]>,
  ) => Promise<object>
  /** Writes one whose next one is known. */
  readonly of: (rows: readonly Row[], next: string | undefined) => object
}

/** Creates the pages of a list by the name of their schema and that of the items in them. */
export const pagesOf = <Row>(
  [schema, items]: readonly [schema: string, items: string],
  document: Document<Row>,
  cursorOf: (item: Row) => string | number,
): Pages<Row> => {
  const of: Pages<Row>['of'] = (rows, next) => ({
    [items]: rows.map(document.of),
    next_cursor: next ?? null,
  })
  return {
    ...s.named(schema, s.page(items, document)),
    of,
    async read({ limit, ...asked }, list) {
      const found = await list({ ...asked, limit: limit + 1 })
      const shown = found.slice(0, limit)
      const last = found.length > limit ? shown.at(-1) : undefined
      return of(shown, last && String(cursorOf(last)))
    },
  }
}
