import { sqlState } from '../../../shared/postgres/failures.ts'
import type { Database, Transaction } from '../../../shared/postgres/database.ts'
import { toError } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'

/** Whether texts can be searched; `unavailable` without trigrams. */
export type SearchState = 'on' | 'off' | 'unavailable'

/** Any number: replicas that start at the same time prepare one after the other. */
const LOCK = 7_310_452_124
/** No such extension; not allowed to create it. */
const WITHOUT_EXTENSION: readonly (string | undefined)[] = ['0A000', '58P01', '42501']

/**
 * Brings the database to the setting. On: makes the extension and the index, and has the texts of
 * all days read if they were not kept until now. Off: empties them.
 */
export async function prepareSearch(
  sql: Database,
  isWanted: boolean,
  log: Log,
): Promise<SearchState> {
  const hasTrigrams = isWanted && (await createTrigrams(sql, log))
  const state = isWanted ? (hasTrigrams ? 'on' : 'unavailable') : 'off'
  await sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(${LOCK})`
    const [before] = await tx<{ state: SearchState }[]>`select state from text_search`
    if (before?.state === state) return
    await tx`update text_search set state = ${state}`
    if (state === 'on') await startExtraction(tx)
    else await tx`truncate span_texts, traces_to_extract`
  })
  return state
}

async function createTrigrams(sql: Database, log: Log): Promise<boolean> {
  try {
    await sql.begin(async (tx) => {
      await tx`select pg_advisory_xact_lock(${LOCK})`
      await tx`create extension if not exists pg_trgm`
      await tx`
        create index if not exists span_texts_text on span_texts using gin (text gin_trgm_ops)`
    })
    return true
  } catch (thrown) {
    if (!WITHOUT_EXTENSION.includes(sqlState(thrown))) throw thrown
    const { message: reason } = toError(thrown)
    log.warn({ reason }, 'texts cannot be searched: the database has no extension pg_trgm')
    return false
  }
}

/** The roll-ups go through all days once more, and note what has to be read. */
const startExtraction = (tx: Transaction) => tx`
  insert into days_to_roll_up (day)
  select to_date(right(inhrelid::regclass::text, 8), 'YYYYMMDD')
  from pg_inherits where inhparent = 'spans'::regclass and not inhdetachpending
  on conflict do nothing`
