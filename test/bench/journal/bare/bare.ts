import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { Stage } from '../../../faults/runs/stage.ts'
import type { BareRun } from './worker.ts'

/** The least that a crew and a worker can be: what any journal between such two adds. */
export interface Bare {
  /** Performs runs, all at once. */
  perform(runs: readonly BareRun[]): Promise<void>
  stop(): void
}

const start = (program: string, ...args: string[]): ChildProcess =>
  fork(new URL(program, import.meta.url), args, { execArgv: ['--import', 'tsx'] })

/** Starts both: the crew asks the model of the stage, the worker commits to its database. */
export async function startBare({ sql, server, model }: Stage): Promise<Bare> {
  await sql`create table bare_steps (run text, task text, record text, primary key (run, task))`
  const crew = start('crew.ts', model.baseUrl)
  const [port] = (await once(crew, 'message')) as [number]
  const worker = start('worker.ts', server.url, String(port))
  return {
    async perform(runs) {
      const done = once(worker, 'message')
      worker.send(runs)
      await done
    },
    stop() {
      for (const child of [crew, worker]) child.kill()
    },
  }
}
