import type { ArchiveParts } from './archive-files.ts'
import { readArchivedFile } from './archive-store.ts'
import type { ArchivedFile } from './archive-store.ts'
import { placeOf, TRACE_ID } from './archived-columns.ts'
import { readSpanFile } from './span-file.ts'

/** An attribute that spans in files are looked through for. */
export interface SoughtAttribute {
  readonly key: string
  readonly value: string
  /** The ids of the resources that have it, as signed decimals. */
  readonly resourceIds: readonly string[]
}

const ATTRIBUTES = placeOf('attributes')
const RESOURCE_ID = placeOf('resource_id')
const COLUMNS = ['trace_id', 'attributes', 'resource_id'] as const
/** What JSON writes as it is. */
const PLAIN = /^[\w .:/-]*$/
/** Characters that PostgreSQL is asked about at a time. */
const ASKED = 1 << 20

/**
 * Finds the traces of a file of which a span, or what sent it, has an attribute, by their UUIDs.
 * PostgreSQL compares the values, as it does for spans that are not archived.
 */
export async function findHolders(
  { sql, store }: ArchiveParts,
  file: ArchivedFile,
  { key, value, resourceIds }: SoughtAttribute,
): Promise<readonly string[]> {
  const resources = new Set(resourceIds)
  const parts = [key, value].filter((part) => PLAIN.test(part))
  const holders = new Set<string>()
  let open: { readonly traceId: string; readonly attributes: string }[] = []
  let size = 0
  const compare = async (): Promise<void> => {
    const rows = await sql<{ traceId: string }[]>`
      select distinct trace_id from unnest(
        ${open.map(({ traceId }) => traceId)}::text[],
        ${open.map(({ attributes }) => attributes)}::text[]
      ) as spans (trace_id, attributes)
      where attributes::jsonb ->> ${key}::text = ${value}`
    for (const { traceId } of rows) holders.add(traceId)
    open = []
    size = 0
  }
  for await (const row of readSpanFile(await readArchivedFile(store, file), { columns: COLUMNS })) {
    const traceId = row[TRACE_ID] ?? ''
    const attributes = row[ATTRIBUTES]
    if (resources.has(row[RESOURCE_ID] ?? '')) holders.add(traceId)
    if (!attributes || holders.has(traceId)) continue
    if (!parts.every((part) => attributes.includes(part))) continue
    open.push({ traceId, attributes })
    size += attributes.length
    if (size > ASKED) await compare()
  }
  if (open.length > 0) await compare()
  return [...holders]
}
