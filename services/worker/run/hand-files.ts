import type { KickoffFiles } from '../../platform/crew-contract/kickoff-files.ts'
import { loadFiles } from '../../platform/runs/run-files.ts'
import type { NamesFiles } from '../../platform/runs/run-files.ts'
import type { Database } from '../../shared/postgres/database.ts'
import { createWaitingLine } from '../../shared/waiting-line.ts'

/** Its content is there as bytes, as base64, in a document and in a socket: some 100 MiB. */
const TURNS = {
  concurrent: 1,
  waitingMax: 1000,
  busy: 'The files of too many runs are being handed to crews.',
}

/** Loads the files of a run or a case for a call; those of one at a time are in memory. */
export type HandFiles = <Result>(
  of: NamesFiles,
  use: (files: KickoffFiles) => Promise<Result>,
) => Promise<Result>

/** Creates the way by which the files of runs reach their crews. */
export function createFileHandover(sql: Database): HandFiles {
  const line = createWaitingLine(TURNS)
  return async function handFiles(of, use) {
    await line.enter()
    try {
      return await use(await loadFiles(sql, of))
    } finally {
      line.leave()
    }
  }
}
