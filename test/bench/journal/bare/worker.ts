import { once } from 'node:events'
import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { createInterface } from 'node:readline'
import postgres from 'postgres'

/** A run as the bare crew gets it. */
export interface BareRun {
  readonly number: string
  readonly tasks: readonly string[]
  /** A task begins once its row is committed. */
  readonly isJournaled: boolean
}

const [url = '', port = ''] = process.argv.slice(2)
const sql = postgres(url, { max: 2 })

async function perform(run: BareRun): Promise<void> {
  const call = request({ port: Number(port), method: 'POST', agent: false })
  call.setNoDelay(true)
  call.write(`${JSON.stringify(run)}\n`)
  const [answer] = (await once(call, 'response')) as [IncomingMessage]
  for await (const line of createInterface({ input: answer })) {
    const { task, record } = JSON.parse(line) as { task: string; record: string }
    await sql`insert into bare_steps values (${run.number}, ${task}, ${record})`
    call.write('{}\n')
  }
  call.end()
}

process.on('message', (runs: BareRun[]) => {
  void Promise.all(runs.map(perform)).then(() => process.send?.('done'))
})
