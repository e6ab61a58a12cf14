import type { Context } from 'hono'
import * as v from 'valibot'
import { parseCrewDefinition } from '../../../platform/definitions/crew-definition.ts'
import type { CrewDefinition } from '../../../platform/definitions/crew-definition.ts'
import { budgetLimits } from '../../../platform/budgets/budgets.ts'
import type { BudgetLimits } from '../../../platform/budgets/budgets.ts'
import { isUuid } from '../../../platform/automations/automations.ts'
import { projectNameProblem } from '../../../platform/projects/projects.ts'
import { AppError } from '../../../shared/errors.ts'
import { readJson } from '../../../shared/http/json-body.ts'
import { parseBody } from '../../http/parse-body.ts'

const BODY_BYTES_MAX = 256 * 1024
/** A version has up to 1 MiB of knowledge, which JSON makes longer. */
const VERSION_BYTES_MAX = 4 * 1024 * 1024
const ID_MAX = 2 ** 31 - 1
const PAGE = { standard: 20, max: 100 }

const projectBody = v.strictObject({
  name: v.pipe(
    v.string('must be a text'),
    v.check(
      (name) => projectNameProblem(name) === undefined,
      ({ input }) => projectNameProblem(input) ?? '',
    ),
  ),
})
const versionBody = v.strictObject({ definition: v.unknown() })

/**
 * Reads the name of a new project. Raises `unprocessable`, as the others do, and what `readJson`
 * raises.
 */
export async function readProject(c: Context): Promise<{ name: string }> {
  return parseBody(projectBody, await readJson(c.req.raw, BODY_BYTES_MAX))
}

/** Reads the definition of a version. */
export async function readDefinition(c: Context): Promise<CrewDefinition> {
  const body = await readJson(c.req.raw, VERSION_BYTES_MAX)
  return parseCrewDefinition(parseBody(versionBody, body).definition)
}

/** Reads the limits of a budget. */
export async function readLimits(c: Context): Promise<BudgetLimits> {
  return parseBody(budgetLimits, await readJson(c.req.raw, BODY_BYTES_MAX))
}

/** Reads the body of a call that starts a run. Raises what `readJson` raises. */
export const readRunBody = (c: Context): Promise<unknown> => readJson(c.req.raw, BODY_BYTES_MAX)

/** Reads a number of the path. Raises `not_found` for anything else. */
export function readNumber(c: Context, name: string): number {
  const text = c.req.param(name) ?? ''
  const number = /^[1-9]\d{0,9}$/.test(text) ? Number(text) : Infinity
  if (number <= ID_MAX) return number
  throw new AppError('not_found', 'There is no such project or version: both have numbers.')
}

/** The page of a list that a caller asks for. */
export interface PageRequest<Cursor> {
  readonly limit: number
  /** Absent: the first page. */
  readonly cursor?: Cursor
}

/** Reads `limit` and `cursor` of a list whose cursors are numbers. Raises `invalid_request`. */
export function readNumberPage(c: Context): PageRequest<number> {
  const cursor = readSingle(c, 'cursor')
  if (cursor === undefined) return { limit: readLimit(c) }
  if (!/^\d{1,10}$/.test(cursor) || Number(cursor) > ID_MAX) throw badCursor()
  return { limit: readLimit(c), cursor: Number(cursor) }
}

/** Reads `limit` and `cursor` of a list whose cursors are UUIDs. Raises `invalid_request`. */
export function readUuidPage(c: Context): PageRequest<string> {
  const cursor = readSingle(c, 'cursor')
  if (cursor === undefined) return { limit: readLimit(c) }
  if (!isUuid(cursor)) throw badCursor()
  return { limit: readLimit(c), cursor }
}

function readLimit(c: Context): number {
  const text = readSingle(c, 'limit') ?? String(PAGE.standard)
  const limit = /^\d{1,3}$/.test(text) ? Number(text) : 0
  if (limit >= 1 && limit <= PAGE.max) return limit
  throw new AppError('invalid_request', `limit is a number from 1 to ${PAGE.max}.`)
}

/** Reads the share of the calls that a version takes. Raises `invalid_request`. */
export function readPercent(c: Context): number {
  const text = readSingle(c, 'percent') ?? '100'
  const percent = /^\d{1,3}$/.test(text) ? Number(text) : 0
  if (percent >= 1 && percent <= 100) return percent
  throw new AppError('invalid_request', 'percent is a number from 1 to 100.')
}

function readSingle(c: Context, name: string): string | undefined {
  const given = c.req.queries(name) ?? []
  if (given.length <= 1) return given[0]
  throw new AppError('invalid_request', `Give ${name} once.`)
}

const badCursor = (): AppError =>
  new AppError('invalid_request', 'cursor is the next_cursor of an earlier page.')

/**
 * Returns one page of a list that was read one item longer than the page. `next_cursor` is null on
 * the last page.
 */
export function toPage<Item, Shown>(
  items: readonly Item[],
  { limit }: PageRequest<unknown>,
  { show, cursorOf }: { show: (item: Item) => Shown; cursorOf: (item: Item) => string | number },
): { items: Shown[]; next_cursor: string | null } {
  const shown = items.slice(0, limit)
  const last = items.length > limit ? shown.at(-1) : undefined
  return { items: shown.map(show), next_cursor: last ? String(cursorOf(last)) : null }
}
