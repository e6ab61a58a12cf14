import * as v from 'valibot'
import type { Queryable } from '../../shared/postgres/database.ts'

/**
 * The channel on which web tells that somebody follows what the models of a run write; the payload
 * is the id of the run.
 */
export const RUN_FOLLOWED = 'run_followed'
/** The channel of these texts. */
export const RUN_TEXT = 'run_text'
/** A wish that is not told again for so long has ended. */
export const FOLLOWED_MS = 30_000

/** PostgreSQL takes fewer than 8,000 bytes; a character has six at the most in JSON. */
const TEXT_CHARACTERS_MAX = 1100
const PAYLOAD_BYTES_MAX = 7999

const runText = v.object({
  run: v.string(),
  step: v.string(),
  task: v.string(),
  agent: v.string(),
  offset: v.number(),
  text: v.string(),
})

/** A part of the text that a model writes in a run; it is passed on and kept nowhere. */
export type RunText = v.InferOutput<typeof runText>

/** Tells the workers that somebody follows these runs. */
export async function tellFollowed(sql: Queryable, runIds: readonly string[]): Promise<void> {
  await sql`select pg_notify(${RUN_FOLLOWED}, id) from unnest(${[...runIds]}::text[]) id`
}

/** Tells those who follow a run of texts, in their order. */
export async function publishTexts(sql: Queryable, texts: readonly RunText[]): Promise<void> {
  const payloads = texts
    .flatMap(toParts)
    .map((part) => JSON.stringify(part))
    .filter((payload) => Buffer.byteLength(payload) <= PAYLOAD_BYTES_MAX)
  if (payloads.length === 0) return
  await sql`
    select pg_notify(${RUN_TEXT}, payload)
    from unnest(${payloads}::text[]) with ordinality as part (payload, place) order by place`
}

/** Reads what `publishTexts` sent. */
export function readRunText(payload: string): RunText | undefined {
  const result = v.safeParse(v.pipe(v.string(), v.parseJson(), runText), payload)
  return result.success ? result.output : undefined
}

function toParts(whole: RunText): RunText[] {
  const parts: RunText[] = []
  for (let start = 0; start < whole.text.length;) {
    const text = cut(whole.text.slice(start, start + TEXT_CHARACTERS_MAX))
    parts.push({ ...whole, offset: whole.offset + start, text })
    start += text.length
  }
  return parts
}

/** Keeps the halves of a pair together. */
const cut = (text: string): string =>
  text.length > 1 && /[\uD800-\uDBFF]$/.test(text) ? text.slice(0, -1) : text
