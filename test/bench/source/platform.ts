import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Summary } from '../../../services/local/summary.ts'
import type { Project } from '../../services/worker/deployments/crew-projects.ts'
import { freePortBase } from '../../support/free-port.ts'
import { archiveOf } from './project.ts'
import { until } from './until.ts'

const RUN = new URL('../../../services/run.mjs', import.meta.url).pathname
const LOCAL = new URL('../../../services/local.ts', import.meta.url).pathname

/** Starts `npm start` on data of its own. */
export async function startPlatform() {
  const directory = await mkdtemp(join(tmpdir(), 'bench-source-'))
  const args = ['--data', directory, '--port-base', String(await freePortBase()), '--json']
  const child = spawn(process.execPath, [RUN, LOCAL, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
  const { web_url, static_token } = JSON.parse(line) as Summary
  const automations = `${web_url}/designer/v2/automations`
  const authorization = `Bearer ${static_token}`

  async function send(url: string, body: string | Uint8Array<ArrayBuffer>, type: string) {
    const headers = { authorization, 'content-type': type }
    const response = await fetch(url, { method: 'POST', headers, body })
    if (!response.ok) throw new Error(`HTTP ${response.status}: ${await response.text()}`)
    return JSON.parse(await response.text())
  }

  return {
    /** The tools index of the organization with its token. */
    index: Object.assign(new URL('/tools/organization/simple/', web_url), {
      username: '__token__',
      password: static_token,
    }).href,
    async create(name: string): Promise<string> {
      const { automation_id } = await send(
        automations,
        JSON.stringify({ name }),
        'application/json',
      )
      return automation_id
    },
    /** Sends a project, and resolves when its crew is online. */
    async deploy(automation: string, files: Project): Promise<void> {
      const { content } = await archiveOf(files)
      const deployments = `${automations}/${automation}/deployments`
      const { number } = await send(deployments, content, 'application/gzip')
      let end = ''
      await until(async () => {
        const response = await fetch(`${deployments}/${number}`, { headers: { authorization } })
        const { state, reason } = JSON.parse(await response.text())
        end = state === 'Crew has Failed' ? reason : state
        return state === 'Crew is Online' || state === 'Crew has Failed'
      })
      if (end !== 'Crew is Online') throw new Error(end)
    },
    async stop(): Promise<void> {
      child.kill()
      if (child.exitCode === null) await once(child, 'exit')
      await rm(directory, { recursive: true, force: true })
    },
  }
}
