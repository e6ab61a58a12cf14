import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { build } from 'esbuild'
import type { Automation } from '../../../services/platform/automations/automations.ts'
import { completeRun, takeRuns } from '../../../services/platform/runs/run-queue.ts'
import { kickoff } from '../../../services/platform/runs/runs.ts'
import {
  createWebhookKeys,
  createWebhookSecret,
} from '../../../services/platform/webhooks/webhook-keys.ts'
import { createWebhook, EVERY_EVENT } from '../../../services/platform/webhooks/webhooks.ts'
import type { Database } from '../../../services/shared/postgres/database.ts'
import { createRandom } from '../../bench/support/requests.ts'
import { freePort } from '../../support/free-port.ts'
import { recordEvent } from '../../support/record-event.ts'
import { until } from '../../support/until.ts'
import { auditLedger } from './audit.ts'
import type { WebhookAudit } from './audit.ts'

const SECRET_KEY_BASE = 'secret-key-base-'.repeat(4)
const WAITING_MAX = 100
const root = new URL('../../../', import.meta.url)
// Some packages are CommonJS, and call `require` for modules of Node.
const REQUIRE =
  "import { createRequire as requireOf } from 'node:module'; " +
  'const require = requireOf(import.meta.url);'

interface WebhookFaultOptions {
  readonly sql: Database
  readonly databaseUrl: string
  readonly automation: Automation
  /** For the programs and the ledger. */
  readonly directory: string
  /** Of the two senders and the receiver, in a random order. */
  readonly kills: number
  readonly seed: number
  readonly onKill?: (kills: number) => void
}

export interface WebhookFaultReport extends WebhookAudit {
  readonly kills: number
  readonly seed: number
}

/** A program that is started again each time that it is killed. */
interface Program {
  kill(): Promise<void>
  end(): Promise<void>
}

/**
 * Kills senders and the receiver of webhooks while runs tell of their events; then the receiver
 * must have each event, those of a run in their order, and each under one id.
 */
export async function runWebhookFaults(options: WebhookFaultOptions): Promise<WebhookFaultReport> {
  const { sql, kills, seed } = options
  const { ledger, secret } = await killWhile(options, (isDone) =>
    Promise.all([1, 2].map(() => tellRuns(options, isDone))),
  )
  return { ...(await auditLedger(sql, ledger, secret)), kills, seed }
}

/**
 * Kills senders and the receiver of webhooks while something tells of what happens, and waits until
 * all of it was sent. Returns the file of what the receiver accepted, and the key of the webhook.
 */
export async function killWhile(
  options: WebhookFaultOptions,
  tell: (isDone: () => boolean) => Promise<unknown>,
): Promise<{ readonly ledger: string; readonly secret: string }> {
  const { sql, databaseUrl, directory, kills, seed, automation, onKill } = options
  const random = createRandom(seed)
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  const ledger = join(directory, 'ledger')
  const secret = await hook(sql, automation, origin)
  await bundle(directory)
  const sender = () => open(directory, 'sender', [databaseUrl, origin, SECRET_KEY_BASE])
  const receiver = () => open(directory, 'receiver', [String(port), ledger])
  const programs = await Promise.all([sender(), sender(), receiver()])
  try {
    await killInTurn()
  } finally {
    await Promise.all(programs.map((program) => program.end()))
  }
  return { ledger, secret }

  async function killInTurn(): Promise<void> {
    let done = false
    const telling = tell(() => done)
    for (let killed = 1; killed <= kills; killed += 1) {
      await delay(random() * 400)
      await programs[Math.floor(random() * programs.length)]?.kill()
      onKill?.(killed)
    }
    done = true
    await telling
    const isWaiting = async (): Promise<boolean> =>
      (await sql`select from webhook_messages where state = 'waiting' limit 1`).length > 0
    await until(async () => !(await isWaiting()), { timeoutMs: 120_000 })
  }
}

async function hook(sql: Database, { id: deploymentId }: Automation, url: string) {
  const id = randomUUID()
  const secret = createWebhookSecret()
  const sealedKey = createWebhookKeys(SECRET_KEY_BASE).seal(secret, { id, deploymentId })
  const taken = { url, eventTypes: [EVERY_EVENT], format: 'standard' } as const
  await createWebhook(sql, { id, deploymentId, ...taken, sealedKey })
  return secret
}

async function bundle(directory: string): Promise<void> {
  await build({
    entryPoints: ['test/faults/webhooks/sender.ts', 'test/faults/webhooks/receiver.ts'],
    absWorkingDir: root.pathname,
    outdir: directory,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    banner: { js: REQUIRE },
    logLevel: 'warning',
  })
}

async function open(directory: string, name: string, args: readonly string[]): Promise<Program> {
  const start = async (): Promise<ChildProcess> => {
    const child = spawn(process.execPath, [join(directory, `${name}.mjs`), ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await Promise.race([once(child.stdout, 'data'), failIfEnded(child, name)])
    return child
  }
  let child = await start()
  const end = async (): Promise<void> => {
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  return {
    end,
    async kill() {
      await end()
      child = await start()
    },
  }
}

async function failIfEnded(child: ChildProcess, name: string): Promise<never> {
  await once(child, 'exit')
  throw new Error(`the ${name} ended by itself`)
}

/** Else the end of the test would wait for what slow machines are behind with. */
const untilFewWait = (sql: Database): Promise<void> =>
  until(async () => {
    const [row] = await sql<[{ count: number }]>`
      select count(*)::int as count from webhook_messages where state = 'waiting'`
    return row.count < WAITING_MAX
  })

/** One run after the other, each with some events and its end. */
async function tellRuns(
  { sql, automation }: WebhookFaultOptions,
  isDone: () => boolean,
): Promise<void> {
  while (!isDone()) {
    await untilFewWait(sql)
    await kickoff(sql, { deploymentId: automation.id, inputs: {} })
    const [lease] = await takeRuns(sql, 1)
    if (!lease) continue
    for (let position = 0; position < 10; position += 1) {
      await recordEvent(sql, lease, { position, event: { type: 'step', position } })
      await delay(40)
    }
    const usage = { inputTokens: 0, outputTokens: 0 }
    await completeRun(sql, lease, { output: 'done', usage })
  }
}
