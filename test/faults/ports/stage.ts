import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { issueStaticToken } from '../../../services/platform/automations/static-tokens.ts'
import type { CrewDefinition } from '../../../services/platform/definitions/crew-definition.ts'
import { createTrigger } from '../../../services/platform/triggers/triggers.ts'
import {
  createWebhookKeys,
  createWebhookSecret,
} from '../../../services/platform/webhooks/webhook-keys.ts'
import { buildProgram } from '../../support/build.ts'
import { freePort } from '../../support/free-port.ts'
import {
  abandonStage,
  closeStage,
  end,
  openStage,
  SECRET_KEY_BASE,
  startWeb,
} from '../runs/stage.ts'
import type { Stage } from '../runs/stage.ts'

const LATENCY_MS = 40
export const CLIENTS = ['one', 'two'] as const

const task = (key: string) => ({
  key,
  description: `[run {number} task ${key}] Answer about {topic}.`,
  expected_output: 'An answer',
  agent: 'agent',
})

/** Two tasks; a person decides about what the last one puts out. */
const crew: CrewDefinition = {
  name: 'Counted',
  llm: { model: 'counting' },
  agents: [{ key: 'agent', role: 'Agent', goal: 'Answer about {topic}' }],
  tasks: [task('first'), { ...task('last'), human_input: true }],
}

/** A web service, its clients, and what performs the runs that they start. */
export interface PortStage {
  readonly runs: Stage
  readonly origin: string
  readonly api: string
  readonly token: string
  readonly hook: string
  readonly secret: string
  web: ChildProcess
  readonly clients: ChildProcess[]
}

type Opened = Omit<PortStage, 'web' | 'clients'>

/** Opens a stage on bundles of the services; without a directory of them, makes some. */
export async function openPortStage(bundles: string | undefined): Promise<PortStage> {
  const runs = await openStage(() => Math.random() * LATENCY_MS, { bundles, crew })
  try {
    const { sql, automation, directory } = runs
    const { id: deploymentId, organizationId, automationId } = automation
    const origin = `http://127.0.0.1:${await freePort()}`
    const key = { id: randomUUID(), deploymentId }
    const secret = createWebhookSecret()
    await createTrigger(sql, key, {
      name: 'Events',
      scheme: 'standard_webhooks',
      header: null,
      filter: null,
      deliveryPath: null,
      inputs: { topic: '{{ $.body.topic }}', number: '{{ $.body.number }}' },
      sealedKey: createWebhookKeys(SECRET_KEY_BASE).seal(secret, key),
    })
    const issued = { organizationId, deploymentId, name: 'clients', createdBy: null }
    const token = await issueStaticToken(sql, issued)
    await buildProgram('test/faults/ports/client.ts', join(directory, 'client.mjs'))
    const api = `${origin}/platform/api/v1/crew/${automationId}`
    const opened = { runs, origin, api, token, hook: `${origin}/hooks/${key.id}`, secret }
    const web = await startWeb(runs, origin)
    return { ...opened, web, clients: CLIENTS.map((name) => startClient(opened, name)) }
  } catch (thrown) {
    abandonStage(runs)
    throw thrown
  }
}

export const ledgerOf = ({ runs: { directory } }: Pick<PortStage, 'runs'>, name: string) =>
  join(directory, `ledger-${name}`)

/** Lets the clients finish what they have begun, and ends nothing else. */
export async function finishClients({ clients }: PortStage): Promise<void> {
  for (const child of clients) {
    const ended = once(child, 'exit')
    child.stdin?.end()
    await ended
  }
}

/** Ends all programs. */
export async function closePortStage(stage: PortStage): Promise<void> {
  await end(stage.web, 'SIGTERM')
  await closeStage(stage.runs)
}

/** Ends all programs at once. */
export function abandonPortStage({ web, clients, runs }: PortStage): void {
  for (const child of [web, ...clients]) child.kill('SIGKILL')
  abandonStage(runs)
}

function startClient(stage: Opened, name: string): ChildProcess {
  const { runs, api, token, hook, secret } = stage
  const args = [name, api, token, hook, secret, ledgerOf(stage, name)]
  return spawn(process.execPath, [join(runs.directory, 'client.mjs'), ...args], {
    stdio: ['pipe', 'ignore', 'inherit'],
  })
}

/** Kills the web service, in the middle of whatever it answers. */
export async function killWeb(stage: PortStage): Promise<void> {
  await end(stage.web, 'SIGKILL')
  stage.web = await startWeb(stage.runs, stage.origin)
}

/** Kills a client. */
export async function killClient(stage: PortStage, which: number): Promise<void> {
  const [at, name = ''] = [which % CLIENTS.length, CLIENTS[which % CLIENTS.length]]
  const child = stage.clients[at]
  if (child) await end(child, 'SIGKILL')
  stage.clients[at] = startClient(stage, name)
}
