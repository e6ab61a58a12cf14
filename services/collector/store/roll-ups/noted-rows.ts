/** What says whose a trace is, beside the organization: of its root, or else of any span. */
export const OWNER_COLUMNS: readonly string[] = ['crew_id', 'kickoff_id', 'session_id', 'user_id']

/**
 * The columns of `traces` that a note has the rows of, in their order: all but those of calls,
 * which such traces have not.
 */
export const NOTED_COLUMNS: readonly string[] = [
  ['organization', 'trace_id', 'start_time', 'first_start', 'last_start', 'end_time'],
  ['duration_ns', 'root_span_id', 'start_ns', 'status', 'name', 'service', ...OWNER_COLUMNS],
  ['agents', 'spans', 'error_spans', 'terms'],
].flat()

/** The roll-up of a trace: its row, for COPY BINARY. */
export interface NotedRow {
  readonly row: Buffer
  readonly hasTexts: boolean
}

/**
 * Another number for each change of what rows are made of, or of how they are packed: during an
 * upgrade two releases write and read them.
 */
export const NOTED_FORM = 1
const HEAD_BYTES = 5

/**
 * Unpacks what begins with the form and has, for each trace of a note, whether it has texts, the
 * length of its row, 0 for none, and that. Finds nothing of another release.
 */
export function unpackRows(packed: Buffer): (NotedRow | undefined)[] {
  const rows: (NotedRow | undefined)[] = []
  if (packed[0] !== NOTED_FORM) return rows
  for (let at = 1; at < packed.length;) {
    const hasTexts = packed[at] === 1
    const begin = at + HEAD_BYTES
    at = begin + packed.readUInt32BE(at + 1)
    rows.push(at === begin ? undefined : { row: packed.subarray(begin, at), hasTexts })
  }
  return rows
}
