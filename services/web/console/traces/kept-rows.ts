import type { TraceTree } from './trace-tree.ts'
import { toRowsDocument } from './span-row.ts'

/** Smaller traces are read again as fast. */
const ROWS_MIN = 2000
/** The script of a page asks for its rows at once. */
const KEPT_MS = 10_000
/** A document has up to some ten megabytes. */
const DOCUMENTS_MAX = 4

/** The rows of large traces whose page was just shown, for the script that asks for them next. */
interface KeptRows {
  /** Keeps the rows of a trace for a few seconds, once the page is on its way. */
  keep(trace: string, tree: TraceTree): void
  /** Returns the rows as JSON, once: whoever asks again gets what is there by then. */
  take(trace: string): string | undefined
}

/** Keeps rows in this process; another one reads them again. */
export function createKeptRows(): KeptRows {
  const documents = new Map<string, { readonly text: string; readonly timer: NodeJS.Timeout }>()

  function take(trace: string): string | undefined {
    const kept = documents.get(trace)
    clearTimeout(kept?.timer)
    documents.delete(trace)
    return kept?.text
  }

  return {
    keep(trace, tree) {
      if (tree.rows.length < ROWS_MIN) return
      setImmediate(() => {
        take(trace)
        const tooMany = Math.max(0, documents.size - DOCUMENTS_MAX + 1)
        for (const oldest of [...documents.keys()].slice(0, tooMany)) take(oldest)
        const timer = setTimeout(() => documents.delete(trace), KEPT_MS).unref()
        documents.set(trace, { text: JSON.stringify(toRowsDocument(tree)), timer })
      })
    },
    take,
  }
}
