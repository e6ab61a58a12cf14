import { createHash } from 'node:crypto'
import { AppError } from '../../../shared/errors.ts'
import type { ObjectStore } from '../../../shared/object-store/object-store.ts'
import { STORED_COLUMNS, ORGANIZATION, toFileValue, toText, TRACE_ID } from './archived-columns.ts'
import type { ArchivedRow } from './archived-columns.ts'
import type { DescribedFile } from './archive-files.ts'
import { readArchivedFile } from './archive-store.ts'
import { readSpanFile } from './span-file.ts'

/** What was compared. */
export interface Compared {
  readonly traces: number
  readonly spans: number
}

/** The spans of files, one after the other, each checked as a whole first. */
export async function* readFiles(
  store: ObjectStore,
  files: readonly DescribedFile[],
): AsyncGenerator<ArchivedRow> {
  for (const file of files) {
    let spans = 0
    for await (const row of readSpanFile(await readArchivedFile(store, file))) {
      spans += 1
      yield row
    }
    if (spans === file.spans) continue
    const message = `The archived file ${file.path} has ${spans} of ${file.spans} spans.`
    throw new AppError('conflict', message)
  }
}

/**
 * Compares two readings of a day, in the same order: for each trace the number of spans and a hash
 * of all their values. Raises `conflict` with the first trace that differs.
 */
export async function compareRows(
  stored: AsyncIterable<ArchivedRow>,
  archived: AsyncIterable<ArchivedRow>,
): Promise<Compared> {
  const others = tracesOf(archived)
  const compared = { traces: 0, spans: 0 }
  for await (const trace of tracesOf(stored)) {
    const { value: other } = await others.next()
    if (!other || other.key !== trace.key) throw differs(trace, 'is missing in the files')
    if (other.spans !== trace.spans)
      throw differs(trace, `has ${trace.spans} spans, and ${other.spans} in the files`)
    if (other.hash !== trace.hash) throw differs(trace, 'has other values in the files')
    compared.traces += 1
    compared.spans += trace.spans
  }
  const { value: surplus } = await others.next()
  if (surplus) throw differs(surplus, 'is in the files alone')
  return compared
}

/** Counts what is in files. */
export async function countRows(archived: AsyncIterable<ArchivedRow>): Promise<Compared> {
  const counted = { traces: 0, spans: 0 }
  for await (const { spans } of tracesOf(archived)) {
    counted.traces += 1
    counted.spans += spans
  }
  return counted
}

const differs = ({ key }: Trace, how: string): AppError =>
  new AppError('conflict', `The trace ${key.split(' ')[0]} ${how}.`)

interface Trace {
  readonly key: string
  readonly spans: number
  readonly hash: string
}

/** The traces of rows that are in the order of traces. */
async function* tracesOf(rows: AsyncIterable<ArchivedRow>): AsyncGenerator<Trace, void> {
  let key: string | undefined
  let spans = 0
  let hash = createHash('sha256')
  for await (const row of rows) {
    const next = `${row[TRACE_ID]} ${row[ORGANIZATION]}`
    if (key !== undefined && next !== key) {
      yield { key, spans, hash: hash.digest('hex') }
      spans = 0
      hash = createHash('sha256')
    }
    key = next
    spans += 1
    hash.update(JSON.stringify(STORED_COLUMNS.map(({ kind }, at) => canonical(kind, row[at]))))
  }
  if (key !== undefined) yield { key, spans, hash: hash.digest('hex') }
}

/** PostgreSQL writes some numbers in another way, such as 1e-07. */
const canonical = (kind: (typeof STORED_COLUMNS)[number]['kind'], text: string | null = null) =>
  kind === 'double' ? toText(toFileValue(kind, text)) : text
