import { PROMOTED_COLUMNS } from '../conventions/columns.ts'
import { SPAN_ID_BYTES, TRACE_ID_BYTES } from './limits.ts'

const namesOf = (...kinds: string[]): string[] =>
  PROMOTED_COLUMNS.filter(({ kind }) => kinds.includes(kind)).map(({ column }) => column)

/** The columns of `spans` in the order of the rows that the transcoder writes. */
export const SPAN_COLUMNS: readonly string[] = [
  'trace_id',
  'span_id',
  'organization',
  'start_time',
  'duration_ns',
  'parent_span_id',
  'resource_id',
  'scope_id',
  'flags',
  'dropped_attributes',
  'dropped_events',
  'dropped_links',
  ...namesOf('count', 'number'),
  'start_ns',
  'kind',
  'status',
  'llm_call',
  'name',
  'status_message',
  'trace_state',
  'operation_kind',
  ...namesOf('text'),
  'left_out',
  'attributes',
  'payload',
  'events',
  'links',
]

/** Columns that identify a span. */
export const KEY_COLUMNS: readonly string[] = ['start_time', 'trace_id', 'span_id', 'organization']

// A row begins with the count of its columns, and each field with its length.
const COUNT_BYTES = 2
const LENGTH_BYTES = 4

/** The place of the trace id in a row. */
export const ROW_TRACE_ID = COUNT_BYTES + LENGTH_BYTES
/** The place of the span id in a row. */
export const ROW_SPAN_ID = ROW_TRACE_ID + TRACE_ID_BYTES + LENGTH_BYTES
/** The place of the organization's length in a row; its text follows. */
export const ROW_ORGANIZATION_LENGTH = ROW_SPAN_ID + SPAN_ID_BYTES
/** The place of the organization in a row. */
export const ROW_ORGANIZATION = ROW_ORGANIZATION_LENGTH + LENGTH_BYTES
