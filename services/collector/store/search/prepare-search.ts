import type { Database, Transaction } from '../../../shared/postgres/database.ts'

/** Whether texts can be searched. */
export type SearchState = 'on' | 'off'

/** Any number: replicas that start at the same time prepare one after the other. */
const LOCK = 7_310_452_124

/**
 * Brings the database to the setting. On: has the texts of all days read if they were not kept
 * until now. Off: empties what is kept of them.
 */
export async function prepareSearch(sql: Database, isWanted: boolean): Promise<SearchState> {
  const state = isWanted ? 'on' : 'off'
  await sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(${LOCK})`
    const [before] = await tx<{ state: string }[]>`select state from text_search`
    if (before?.state === state) return
    await tx`update text_search set state = ${state}`
    if (state === 'on') await startExtraction(tx)
    else await tx`truncate text_signatures, span_texts, traces_to_extract`
  })
  return state
}

/** The roll-ups go through all days once more, and note what has to be read. */
const startExtraction = (tx: Transaction) => tx`
  insert into days_to_roll_up (day)
  select to_date(right(inhrelid::regclass::text, 8), 'YYYYMMDD')
  from pg_inherits where inhparent = 'spans'::regclass and not inhdetachpending
  on conflict do nothing`
