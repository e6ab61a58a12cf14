import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createMemory, lend } from '../../../services/collector/otlp/memory.ts'
import { createRowBuffer, releaseRows } from '../../../services/collector/otlp/row-buffer.ts'
import type { RowBuffer } from '../../../services/collector/otlp/row-buffer.ts'
import { createTranscoder } from '../../../services/collector/otlp/transcode.ts'
import { openCopyConnection } from '../../../services/shared/postgres/copy/copy-connection.ts'
import type { CopyStream } from '../../../services/shared/postgres/copy/copy-connection.ts'
import {
  createCopyStreams,
  sortedRows,
} from '../../../services/collector/store/spans/sorted-rows.ts'
import { COPY_SPANS } from '../../../services/collector/store/spans/span-statements.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { takeCopy } from '../../services/collector/support/memory.ts'
import { median } from '../support/statistics.ts'

/** As many rows as the collector puts into one commit at the most. */
const ROWS_A_COMMIT = 4096
/** For the rows of one commit, also while they move to where there is more room. */
const MEMORY_BYTES = 128 << 20
const ALWAYS = { oldest: -(2 ** 53), newest: 2 ** 53 }

export const hasPsql = (): boolean => spawnSync('psql', ['--version']).status === 0

/** The rows of these requests as COPY BINARY, one buffer for each commit. */
export function toCopyData(bodies: readonly Buffer[]): Buffer[] {
  const memory = createMemory(MEMORY_BYTES)
  const transcode = createTranscoder(memory)
  const streams = createCopyStreams()
  const data: Buffer[] = []
  const open = (): RowBuffer => createRowBuffer(takeCopy(memory, Buffer.alloc(0)), memory)
  let buffer = open()
  const close = (): void => {
    const chunks = streams(buffer, sortedRows(buffer)).chunks()
    data.push(Buffer.concat(Array.from(chunks, (chunk) => Buffer.from(chunk))))
    releaseRows(buffer)
  }
  for (const body of bodies) {
    lend(memory, takeCopy(memory, body), (given) => transcode(given, buffer, ALWAYS))
    if (buffer.rows < ROWS_A_COMMIT) continue
    close()
    buffer = open()
  }
  if (buffer.rows > 0) close()
  return data
}

/** Copies the data over some connections and returns the seconds that it took. */
export type CopyAll = (data: readonly Buffer[], connections: number) => Promise<number>

/** Every n-th one, from the first or another on. */
const share = <Item>(list: readonly Item[], of: number, turn: number): Item[] =>
  list.filter((_, i) => i % of === turn)

/** With psql's `\copy`, less the time that psql needs to start. */
export function createPsqlCopy(url: string, directory: string): CopyAll {
  const run = async (script: string): Promise<void> => {
    const file = join(directory, `${Math.random()}.sql`)
    writeFileSync(file, script)
    const psql = spawn('psql', ['-X', '-q', '-v', 'ON_ERROR_STOP=1', url, '-f', file], {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    const [code] = await once(psql, 'exit')
    if (code !== 0) throw new Error(`psql ended with ${code}`)
  }
  return async (data, connections) => {
    const scripts = Array.from({ length: connections }, (_, turn) =>
      share(data, connections, turn).map((bytes, i) => {
        const file = join(directory, `copy-${turn}-${i}`)
        writeFileSync(file, bytes)
        return `\\${COPY_SPANS.replace('from stdin', `from '${file}'`)}\n`
      }),
    )
    const starts = await Promise.all([1, 2, 3].map(() => timed(() => run('select 1;'))))
    const all = await timed(() => Promise.all(scripts.map((lines) => run(lines.join('')))))
    return all - median(starts)
  }
}

/** With the collector's own client, for machines without psql. */
export function createOwnCopy(url: string): CopyAll {
  return async (data, connections) => {
    const sessions = await Promise.all(
      Array.from({ length: connections }, () =>
        openCopyConnection(parseAddress(url), { name: 'bench' }),
      ),
    )
    const seconds = await timed(() =>
      Promise.all(
        sessions.map(async (session, turn) => {
          for (const bytes of share(data, connections, turn)) {
            await session.copy(COPY_SPANS, streamOf(bytes))
          }
        }),
      ),
    )
    for (const session of sessions) session.close()
    return seconds
  }
}

const streamOf = (bytes: Buffer): CopyStream => ({ size: bytes.length, chunks: () => [bytes] })

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await work()
  return (performance.now() - started) / 1000
}
