import { messagesOf } from '../../../../services/collector/conventions/messages.ts'
import { excerptOf } from '../../../../services/collector/store/search/excerpt.ts'
import { HAS_TEXTS } from '../../../../services/collector/store/search/note-texts.ts'
import { member } from '../../../../services/collector/store/search/signature-statements.ts'
import { soughtHashes } from '../../../../services/collector/store/search/signature.ts'
import type { Database } from '../../../../services/shared/postgres/database.ts'

interface Signature {
  readonly traceIds: string
  readonly members: string
  readonly texts: number
  readonly signature: Buffer
}

interface Place {
  readonly of: Signature
  readonly place: number
}

/** How many texts of stored spans no search would find, by the signatures as they are now. */
export async function countUnfoundTexts(sql: Database): Promise<number> {
  const places = new Map<string, Place>()
  const signatures = await sql<Signature[]>`
    select array_to_string(trace_ids, ',') as trace_ids, array_to_string(members, ',') as members,
      texts, signature
    from text_signatures`
  for (const of of signatures) {
    const members = of.members.split(',')
    for (const [place, traceId] of of.traceIds.split(',').entries()) {
      places.set(`${traceId} ${members[place]}`, { of, place })
    }
  }
  const spans = await sql<
    { key: string; attributes: string | null; payload: string | null; events: string | null }[]
  >`
    select trace_id || ' ' || ${sql.unsafe(member('spans'))} as key,
      attributes::text, payload, events
    from spans where ${sql.unsafe(HAS_TEXTS)}`
  return spans.filter((span) => !isFound(excerptOf(messagesOf(span)).text, places.get(span.key)))
    .length
}

function isFound(text: string, found: Place | undefined): boolean {
  if (!found) return false
  const { of, place } = found
  const width = Math.ceil(of.texts / 8)
  const rows = of.signature.length / width
  return soughtHashes(text).every((hash) => {
    const byte = of.signature[(hash & (rows - 1)) * width + (place >> 3)] ?? 0
    return (byte & (0x80 >> (place & 7))) !== 0
  })
}
