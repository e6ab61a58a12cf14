import { COUNT_COLUMNS, NUMBER_COLUMNS, TEXT_COLUMNS } from './attribute-keys.ts'

/** The columns of `spans` in the order of the rows that the transcoder writes. */
export const SPAN_COLUMNS: readonly string[] = [
  'trace_id',
  'span_id',
  'start_time',
  'duration_ns',
  'parent_span_id',
  'resource_id',
  'scope_id',
  'flags',
  'dropped_attributes',
  'dropped_events',
  'dropped_links',
  ...COUNT_COLUMNS,
  ...NUMBER_COLUMNS,
  'start_ns',
  'kind',
  'status',
  'llm_call',
  'name',
  'status_message',
  'trace_state',
  ...TEXT_COLUMNS,
  'attributes',
  'payload',
  'events',
  'links',
]

/** Columns that identify a span. */
export const KEY_COLUMNS: readonly string[] = ['start_time', 'trace_id', 'span_id']

/** Where the identity of a span lies in its row: behind the count of columns and the lengths of the fields. */
export const ROW_TRACE_ID = 2 + 4
export const ROW_SPAN_ID = ROW_TRACE_ID + 16 + 4
