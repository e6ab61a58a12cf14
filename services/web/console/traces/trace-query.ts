import type { Context } from 'hono'
import type { KindName } from '../frame/kinds.ts'
import { KINDS } from '../frame/kinds.ts'
import type { ShownAs } from '../frame/text/foreign-text.ts'
import { spanIdOf } from '../../traces/trace-place.ts'
import { carriedList, readListQuery } from './list-query.ts'

/** What the address of a trace asks for. */
export interface TraceQuery {
  readonly kind: KindName | undefined
  /** Levels of the tree, from 1. */
  readonly depth: number | undefined
  readonly errors: boolean
  /** Only the spans that decide how long the trace takes. */
  readonly critical: boolean
  /** Spans of this kind are closed: nothing below them is shown. */
  readonly fold: KindName | undefined
  readonly text: string | undefined
  /** The first row of the page. */
  readonly from: number
  /** The id of the span beside the tree. */
  readonly span: string | undefined
  /** How messages are shown. */
  readonly as: ShownAs
  /** The filter of the list that led here, as `carriedList` tells it. */
  readonly list: string | undefined
}

const TEXT_MAX = 200
const LIST_MAX = 4000
const ROWS_MAX = 1_000_000

/** Reads the query of a trace's page; what was cut or mistyped counts as absent. */
export function readTraceQuery(c: Context): TraceQuery {
  const number = (name: string, max: number): number | undefined => {
    const text = c.req.query(name) ?? ''
    return /^\d{1,7}$/.test(text) && Number(text) <= max ? Number(text) : undefined
  }
  return {
    kind: KINDS.find((each) => each === c.req.query('kind')),
    depth: number('depth', 100) || undefined,
    errors: c.req.query('errors') === '1',
    critical: c.req.query('critical') === '1',
    fold: KINDS.find((each) => each === c.req.query('fold')),
    text: (c.req.query('q') ?? '').trim().slice(0, TEXT_MAX) || undefined,
    from: number('from', ROWS_MAX) ?? 0,
    span: spanIdOf(c.req.query('span') ?? ''),
    as: c.req.query('as') === 'text' ? 'text' : 'document',
    list: c.req.query('list')?.slice(0, LIST_MAX) || listBefore(c),
  }
}

/** The list whose link led here, as browsers tell it for addresses of their own site. */
function listBefore(c: Context): string | undefined {
  const from = c.req.header('referer') ?? ''
  const url = URL.canParse(from) ? new URL(from) : undefined
  return url?.pathname === '/traces' ? carriedList(readListQuery(url.searchParams)) : undefined
}
