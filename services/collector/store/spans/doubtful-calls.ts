import { placeOf } from './row-reader.ts'
import type { RowReader } from './row-reader.ts'
import { hasTokens } from './usage-sums.ts'

const SPAN_ID = placeOf('span_id')
const PARENT = placeOf('parent_span_id')
const SCOPE = placeOf('scope_id')
const NAME = placeOf('name')

/** The last column that is read. */
export const LAST_DOUBTED = Math.max(NAME, SCOPE, PARENT)

/** A trace with more spans is left to the leader when it has calls, */
const MAX_SPANS = 4096
/** and so is one with more calls, each of which is compared with all others. */
const MAX_CALLS = 128
const ID_BYTES = 8

/** Finds traces with calls of which some may stand for others. */
interface DoubtfulCalls {
  clear(): void
  /** The span at which the reader is. */
  add(isCall: boolean): void
  /**
   * Returns true where a call has a span below it, or beside it a call from another source or one
   * without tokens, as `doubtful` in `roll-up-statement.ts`, and where there are too many.
   */
  areAny(): boolean
}

/** Remembers where ids and names lie in the rows, and compares them once all are there. */
export function createDoubtfulCalls(reader: RowReader): DoubtfulCalls {
  const noted = createNotedCalls(reader)
  return {
    clear: () => void (noted.spans = noted.calls = 0),
    add(isCall) {
      // No field begins at 0, which stands for none.
      const parent = reader.size(PARENT) < 0 ? 0 : reader.begin(PARENT)
      if (noted.spans < MAX_SPANS) noted.parentsOfAll[noted.spans] = parent
      noted.spans++
      if (!isCall) return
      if (noted.calls < MAX_CALLS) noteCall(noted, parent)
      noted.calls++
    },
    areAny() {
      if (noted.calls === 0) return false
      if (noted.spans > MAX_SPANS || noted.calls > MAX_CALLS) return true
      for (let call = 0; call < noted.calls; call++) {
        if (isAbove(noted, call) || hasUnlikeSibling(noted, call)) return true
      }
      return false
    },
  }
}

const createNotedCalls = (reader: RowReader) => ({
  reader,
  spans: 0,
  parentsOfAll: new Uint32Array(MAX_SPANS),
  calls: 0,
  ids: new Uint32Array(MAX_CALLS),
  parents: new Uint32Array(MAX_CALLS),
  scopes: new Uint32Array(MAX_CALLS),
  names: new Uint32Array(MAX_CALLS),
  sizesOfNames: new Int32Array(MAX_CALLS),
  haveTokens: new Uint8Array(MAX_CALLS),
})

/** Where ids and names of a trace lie. */
type NotedCalls = ReturnType<typeof createNotedCalls>

function noteCall(noted: NotedCalls, parent: number): void {
  const { reader, calls } = noted
  noted.ids[calls] = reader.begin(SPAN_ID)
  noted.parents[calls] = parent
  noted.scopes[calls] = reader.begin(SCOPE)
  noted.names[calls] = reader.begin(NAME)
  noted.sizesOfNames[calls] = reader.size(NAME)
  noted.haveTokens[calls] = hasTokens(reader) ? 1 : 0
}

const isSameId = ({ reader }: NotedCalls, one = 0, other = 0): boolean =>
  one === other || (one > 0 && other > 0 && reader.isSame(one, other, ID_BYTES))

function isAbove(noted: NotedCalls, call: number): boolean {
  const id = noted.ids[call]
  for (let span = 0; span < noted.spans; span++) {
    if (isSameId(noted, noted.parentsOfAll[span], id)) return true
  }
  return false
}

function hasUnlikeSibling(noted: NotedCalls, call: number): boolean {
  const parent = noted.parents[call]
  for (let other = 0; other < call; other++) {
    if (isSameId(noted, noted.parents[other], parent) && areUnlike(noted, call, other)) return true
  }
  return false
}

function areUnlike(noted: NotedCalls, one: number, other: number): boolean {
  const { reader, names, sizesOfNames, scopes, haveTokens } = noted
  const size = sizesOfNames[one] ?? 0
  return (
    haveTokens[one] !== 1 ||
    haveTokens[other] !== 1 ||
    size !== sizesOfNames[other] ||
    !reader.isSame(names[one] ?? 0, names[other] ?? 0, size) ||
    !isSameId(noted, scopes[one], scopes[other])
  )
}
