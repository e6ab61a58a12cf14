import { execFile, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parkRun } from '../../../../../services/platform/runs/run-approvals.ts'
import { completeRun, takeRuns } from '../../../../../services/platform/runs/run-queue.ts'
import { until } from '../../../../support/until.ts'
import { openPlatformWithOauth } from '../../support/platform-with-oauth.ts'
import type { PlatformWithOauth } from '../../support/platform-with-oauth.ts'
import { makeTrigger } from '../../intake/triggers/senders.ts'

/** `all`, or the directory in which they are kept. */
const AGENTS = process.env['AGENTS']
const PYTHON_PACKAGES = ['mcp', 'fastmcp']
/** The Inspector wants a newer Node than the platform does. */
const NPM_PACKAGES = ['node@22', '@modelcontextprotocol/inspector@2.12.0', 'stripe@23.1.0']
const PROGRAM = new URL('clients.py', import.meta.url).pathname
const TIMEOUT_MS = 600_000
const USAGE = { inputTokens: 1, outputTokens: 2 }

const run = promisify(execFile)
const has = (program: string) => spawnSync(program, ['--version']).error === undefined
const isMissing = AGENTS === undefined || !['python3', 'npm'].every(has)
if (isMissing) {
  console.log(
    "MCP's clients for Python, its Inspector and Stripe's library were not tried: " +
      'npm run test:long -- agents installs them with pip and npm.',
  )
}

describe.runIf(!isMissing)('what others publish, unmodified,', () => {
  let stage: PlatformWithOauth
  let directory: string
  let token: string

  beforeAll(async () => {
    stage = await openPlatformWithOauth()
    token = await stage.issueToken(stage.acme)
    directory = AGENTS === 'all' ? await mkdtemp(join(tmpdir(), 'agents-')) : String(AGENTS)
    await install()
  }, TIMEOUT_MS)
  afterAll(async () => {
    await stage.close()
    if (AGENTS === 'all') await rm(directory, { recursive: true, force: true })
  })

  async function install(): Promise<void> {
    await mkdir(directory, { recursive: true })
    if (!existsSync(join(directory, 'venv'))) {
      await run('python3', ['-m', 'venv', join(directory, 'venv')])
      await run(join(directory, 'venv/bin/pip'), ['install', '-q', ...PYTHON_PACKAGES])
    }
    if (!existsSync(join(directory, 'node_modules'))) {
      await run('npm', ['init', '-y'], { cwd: directory })
      await run('npm', ['install', '--no-audit', '--no-fund', ...NPM_PACKAGES], { cwd: directory })
    }
  }

  /** Performs runs until a program ends, as a worker does; a person decides about the first. */
  async function workUntil(program: Promise<{ stdout: string }>, asks = false): Promise<string> {
    let isOver = false
    void program.finally(() => (isOver = true)).catch(() => {})
    let isAsked = !asks
    await until(
      async () => {
        for (const taken of await takeRuns(stage.sql, 1)) {
          if (isAsked) await completeRun(stage.sql, taken, { output: 'The moon.', usage: USAGE })
          else
            await parkRun(stage.sql, taken, { step: 's'.repeat(32), task: 'research', output: 'x' })
          isAsked = true
        }
        return isOver
      },
      { timeoutMs: TIMEOUT_MS },
    )
    return (await program).stdout
  }

  it(
    'the clients for Python, of both eras, call automations, and ask their person',
    async () => {
      const env = { ...process.env, MCP_URL: `${stage.service.url}/mcp`, MCP_TOKEN: token }
      const program = run(join(directory, 'venv/bin/python'), [PROGRAM], { env })
      const seen: unknown = JSON.parse(await workUntil(program, true))
      const tools = ['acme-digest', 'acme-research']
      expect(seen).toEqual({
        auto: { version: '2026-07-28', tools, said: 'The moon.', error: false },
        legacy: { version: '2025-11-25', tools, said: 'The moon.', error: false },
        fastmcp: { tools, said: 'The moon.', told: expect.any(Number) },
      })
      const decided = await stage.sql`select decision, answer from run_approvals`
      expect(decided).toEqual([{ decision: 'edit', answer: 'Edited.' }])
    },
    TIMEOUT_MS,
  )

  it(
    'the Inspector lists tools and calls one from its command line',
    async () => {
      const inspect = (...args: string[]) =>
        run(join(directory, 'node_modules/.bin/mcp-inspector'), [
          '--cli',
          `${stage.service.url}/mcp`,
          '--transport',
          'http',
          '--header',
          `Authorization: Bearer ${token}`,
          ...args,
        ])
      const { stdout } = await inspect('--method', 'tools/list')
      expect(JSON.parse(stdout)).toMatchObject({
        tools: [{ name: 'acme-digest' }, { name: 'acme-research' }],
      })
      const call = ['--method', 'tools/call', '--tool-name', 'acme-research']
      const calling = inspect(...call, '--tool-arg', 'topic=tides')
      expect(JSON.parse(await workUntil(calling))).toMatchObject({
        content: [{ type: 'text', text: 'The moon.' }],
      })
    },
    TIMEOUT_MS,
  )

  it(
    "Stripe's library signs what a trigger takes",
    async () => {
      const { trigger, secret } = await makeTrigger(stage, {
        scheme: 'stripe',
        inputs: { topic: '{{ $.body.data.object.id }}' },
      })
      const payload = JSON.stringify({ id: 'evt_1', data: { object: { id: 'cs_1' } } })
      const source = `
      import Stripe from 'stripe'
      const [payload, secret] = process.argv.slice(1)
      const stripe = new Stripe('sk_test_x')
      process.stdout.write(stripe.webhooks.generateTestHeaderString({ payload, secret }))`
      const args = ['--input-type=module', '-e', source, payload, secret]
      const { stdout: signature } = await run(process.execPath, args, { cwd: directory })
      const send = (body: string) =>
        fetch(`${stage.service.url}/hooks/${trigger.id}`, {
          method: 'POST',
          body,
          headers: { 'content-type': 'application/json', 'stripe-signature': signature },
        })
      expect((await send(payload)).status).toBe(202)
      expect((await send(payload.replace('cs_1', 'cs_2'))).status).toBe(404)
    },
    TIMEOUT_MS,
  )
})
