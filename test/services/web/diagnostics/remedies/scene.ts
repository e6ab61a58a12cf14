import type { RequestListener } from 'node:http'
import { runTask } from '../../../../../services/tasks/start.ts'
import type { ComponentName } from '../../../../../services/web/diagnostics/checks/list.ts'
import type { Dependencies } from '../support/dependencies.ts'
import { httpServer } from '../support/faults.ts'
import type { ReadResult, WebOptions } from '../support/web.ts'

/** A fault, and what its reader does about it. */
interface Scene {
  /** The web service while the fault lasts. */
  readonly broken: WebOptions
  /** Follows the remedy; returns the web service as it is then, if it had to be changed. */
  readonly follow: (result: ReadResult) => Promise<WebOptions | void> | WebOptions | void
  /** Takes away what the scene has started. */
  readonly end?: () => Promise<unknown>
}

/** A code of the report: the component that has it, and how to come by it. */
export interface Case {
  readonly component: ComponentName
  readonly stage: (world: Dependencies) => Promise<Scene> | Scene
}

/** A wrong variable that is put right. */
export const variable = (
  component: ComponentName,
  wrong: Record<string, string>,
  right: Record<string, string> = {},
): Case => ({
  component,
  stage: (world) => ({
    broken: world.options({ env: wrong }),
    follow: () => world.options({ env: right }),
  }),
})

/** A server at an address that a variable names: first it fails, then it is as it should be. */
export const server = (
  component: ComponentName,
  { name, env = {}, ...answers }: Answers & { name: string; env?: Record<string, string> },
): Case => ({
  component,
  async stage(world) {
    let answer = answers.wrong
    const there = await httpServer((request, response) => answer(request, response))
    return {
      broken: world.options({ env: { ...env, [name]: there.url } }),
      follow: () => void (answer = answers.right),
      end: () => there.stop(),
    }
  },
})

interface Answers {
  readonly wrong: RequestListener
  readonly right: RequestListener
}

/** Answers with JSON, which may name the address that was asked. */
export const says =
  (status: number, body: (base: string) => unknown): RequestListener =>
  (request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body(`http://${request.headers.host}`)))
  }

/** Runs the task that a remedy names, as its reader would. */
export async function runNamedTask(result: ReadResult, databaseUrl: string): Promise<void> {
  const [, task = ''] = /npm run task -- ([\w:]+)/.exec(JSON.stringify(result.details)) ?? []
  // Where somebody runs the crews; outside of a cluster their tasks are told.
  const CREW_URL = 'http://127.0.0.1:9'
  await runTask([task], { DATABASE_URL: databaseUrl, LOG_LEVEL: 'silent', CREW_URL })
}
