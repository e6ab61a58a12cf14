import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from '../../services/shared/postgres/database.ts'
import { killNode, listPrepared, startNodes, withNode } from './stage.ts'
import type { Stage } from './stage.ts'

const TRIES = 3000
/** A paused session may hold a lock that the question needs. */
const ANSWER_MS = 300
/** Time for the coordinator to go as far as it can while a worker stands still. */
const ADVANCE_MS = 200

/**
 * Stops the second worker in the middle of a commit: a transaction is prepared there, and whatever
 * follows does not come through. Then kills it, alone or with the coordinator. Returns the number
 * of transactions that were in doubt when the nodes were up again.
 */
export async function leaveInDoubt(
  { urls }: Stage,
  kills: readonly ('coordinator' | 'worker2')[],
): Promise<number> {
  await withNode(urls.worker2, async (sql) => {
    const paused = await pauseInCommit(sql)
    await delay(ADVANCE_MS)
    for (const name of kills) await killNode(name)
    // They cannot notice that their server is gone.
    for (const pid of paused) signal(pid, 'SIGKILL')
  })
  await startNodes()
  return withNode(urls.worker2, async (sql) => (await listPrepared(sql)).length)
}

async function pauseInCommit(sql: Database): Promise<number[]> {
  for (let tries = 0; tries < TRIES; tries++) {
    const pids = await listSessions(sql)
    for (const pid of pids) signal(pid, 'SIGSTOP')
    const answer = listPrepared(sql).then((prepared) => prepared.length > 0)
    const isPrepared = await Promise.race([answer, delay(ANSWER_MS, false)])
    if (isPrepared) return pids
    for (const pid of pids) signal(pid, 'SIGCONT')
    await answer
    await delay(1)
  }
  throw new Error('no commit was met in the middle')
}

/** The sessions through which other nodes work here. */
async function listSessions(sql: Database): Promise<number[]> {
  const rows = await sql<{ pid: number }[]>`
    select pid from pg_stat_activity
    where datname = current_database() and application_name like 'citus_internal%'`
  return rows.map(({ pid }) => pid)
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // It has ended.
  }
}
