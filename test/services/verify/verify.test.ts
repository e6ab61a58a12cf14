import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { afterEach, describe, expect, it } from 'vitest'
import { createApp } from '../../../services/crew/app.ts'
import { createLlm } from '../../../services/shared/models/llm.ts'
import type { ModelEndpoint } from '../../../services/platform/connections/model-endpoint.ts'
import { serve } from '../../../services/shared/http/serve.ts'
import { createLog } from '../../../services/shared/log.ts'
import { runVerify } from '../../../services/verify/verify.ts'
import { definition } from '../../support/crew.ts'
import { freePort } from '../../support/free-port.ts'
import { startSmallCrew, TOKEN } from './small-crew.ts'
import type { Faults } from './small-crew.ts'

const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

async function verify(...args: string[]) {
  let stdout = ''
  let stderr = ''
  const exitCode = await runVerify(
    args,
    { CREW_TOKEN: TOKEN },
    {
      out: (text) => (stdout += text),
      err: (text) => (stderr += text),
    },
  )
  return { exitCode, stdout, stderr }
}

async function verifySmall(faults: Faults, ...args: string[]) {
  const crew = await startSmallCrew(faults)
  closers.push(async () => crew.stop())
  return verify(crew.url, '--timeout', '2', ...args)
}

const hasPython = spawnSync('python3', ['--version']).status === 0
if (!hasPython) console.log('No python3 on the PATH: the example in Python is not verified.')

/** Starts a program that ends with its test. */
function start(command: string, ...args: string[]): void {
  const env = { PATH: process.env['PATH'], CREW_TOKEN: TOKEN }
  const child = spawn(command, args, { env, stdio: 'ignore' })
  closers.push(async () => {
    child.kill()
    await once(child, 'exit')
  })
}

async function verifyExample(port: number): Promise<string> {
  const url = `http://127.0.0.1:${port}`
  await expect.poll(async () => (await fetch(`${url}/health`)).status).toBe(200)
  return (await verify(url)).stdout
}

const REPLAYS = '{"contract": 2, "name": "Small", "capabilities": ["journal", "replay"]}'
/** Says of a step what it asks. */
const withRequest: Faults['write'] = (event) => {
  const request = { tool: event['name'], arguments: {} }
  return `${JSON.stringify(event.type === 'step_started' ? { ...event, request } : event)}\n`
}

describe('npm run crew:verify', () => {
  it('finds nothing wrong with the runtime of the platform', async () => {
    const llmAt = ({ base_url }: ModelEndpoint) => createLlm({ baseUrl: base_url, timeoutMs: 9000 })
    const llm = llmAt({ base_url: 'http://127.0.0.1:9/v1' })
    const log = createLog({ name: 'crew', level: 'silent' })
    const app = createApp({ definition, llm, llmAt, token: TOKEN, log, heartbeatMs: 100 })
    const crew = await serve({ fetch: app.fetch, port: 0, host: '127.0.0.1', log, drainMs: 100 })
    closers.push(async () => crew.stop())
    const { stdout, exitCode } = await verify(crew.url, '--model', 'test-model', '--json')
    const { findings } = JSON.parse(stdout) as { findings: { check: string; status: string }[] }
    expect(findings.filter(({ status }) => status !== 'ok')).toEqual([])
    expect(findings.map(({ check }) => check)).toContain('heartbeats and leaving')
    expect(exitCode).toBe(0)
  }, 180_000)

  it('skips what a crew without a journal does not promise', async () => {
    const description = '{"contract": 2, "name": "Old", "capabilities": []}'
    const { stdout, exitCode } = await verifySmall({ description })
    expect(stdout).toMatch(/skipped +goes on +the crew has no capability "journal"/)
    expect(exitCode).toBe(0)
  })

  it.each<[string, Faults, string | RegExp]>([
    ['is not ready', { health: 503 }, 'GET /health answers HTTP 503'],
    ['describes itself in HTML', { description: '<html>' }, 'GET /describe is no description'],
    ['names no contract', { description: '{"name": "x"}' }, 'GET /describe is no description'],
    ['lists no inputs', { inputs: '' }, 'GET /inputs answers HTTP 404'],
    ['lists inputs as an object', { inputs: '{"inputs": {}}' }, 'with something else'],
    ['runs for strangers', { isOpenToAll: true }, 'With a wrong token, /kickoff answers HTTP 200'],
    ['fails at what is no kickoff', { forBroken: 500 }, 'A kickoff that is no JSON gets HTTP 500'],
    ['answers HTML', { contentType: 'text/html' }, 'has the content-type "text/html"'],
    [
      'refuses a good kickoff',
      { kickoff: (response) => response.writeHead(422).end('{"message": "no"}') },
      'answers HTTP 422 "{\\"message\\": \\"no\\"}" to a kickoff that is in order',
    ],
    [
      'refuses the files that it says it takes',
      {
        description: '{"contract": 2, "name": "Small", "capabilities": ["journal", "files"]}',
        refusesFiles: true,
      },
      'to a kickoff that is in order',
    ],
    ['hangs up', { kickoff: (response) => response.destroy() }, 'It cannot be reached: socket'],
  ])('says so of a crew that %s', async (_, faults, words) => {
    const { stdout, exitCode } = await verifySmall(faults)
    expect(stdout).toContain(words)
    expect(exitCode).toBe(1)
  })

  type Event = Parameters<NonNullable<Faults['write']>>[0]
  const line = (event: object): string => `${JSON.stringify(event)}\n`
  const at = (type: string, change: (event: Event) => string) => ({ type, change })
  const fields = (more: object) => (event: Event) => line({ ...event, ...more })
  const nothing = (): string => ''
  const before = (more: object) => (event: Event) =>
    line({ at: event['at'], seq: event['seq'], ...more }) + line({ ...event, seq: 7 })
  const failure = { type: 'failed', error: { code: 'tired', message: 'Not today.' } }
  const task = { type: 'task_completed', task: 't', agent: 'a', output: '' }
  const huge = { result: 'x'.repeat(9_000_000) }
  const half = { usage: { input_tokens: 0.5, output_tokens: 0 } }

  it.each([
    ['writes no JSON', at('step_started', () => 'hello\n'), 'Line 2: is no JSON: "hello"'],
    ['writes a huge line', at('step_finished', fields(huge)), 'longer than 8388608 characters'],
    ['writes half of a line', at('crew_completed', () => '{"type": "crew_'), 'is no JSON'],
    ['writes a list', at('crew_started', () => '[]\n'), 'Line 1: type:'],
    ['leaves out the time', at('crew_started', fields({ at: undefined })), 'Line 1: at:'],
    ['writes the time as a number', at('crew_started', fields({ at: 1 })), 'Line 1: at:'],
    ['leaves out its name', at('crew_started', fields({ crew: undefined })), 'Line 1: crew:'],
    ['has a kind of its own', at('step_started', fields({ kind: 'nap' })), 'Line 2: kind:'],
    ['has keys with spaces', at('step_started', fields({ step: 'a b' })), 'must be a key'],
    ['leaves out the usage', at('crew_completed', fields({ usage: undefined })), 'Line 6: usage:'],
    ['counts half tokens', at('crew_completed', fields(half)), 'Line 6: usage.input_tokens:'],
    ['numbers nothing', at('crew_started', fields({ seq: undefined })), 'has no seq; it has to'],
    ['writes twice', at('crew_started', (event) => line(event).repeat(2)), 'has seq 1; it has to'],
    ['does not begin', at('crew_started', nothing), 'it has to be crew_started'],
    ['does not end', at('crew_completed', nothing), 'The answer ended without a last event. A run'],
    [
      'finishes what never began',
      at('step_finished', fields({ step: 'other' })),
      'had not started in this attempt',
    ],
    [
      'goes on after its end',
      at('crew_completed', (event) => line(event) + line({ type: 'mood', seq: 7 })),
      'nothing may follow crew_completed',
    ],
    ['has strange parents', at('step_started', fields({ parent: 'nobody' })), 'parent nobody of'],
    ['completes what is no task', at('crew_completed', before(task)), 'task_completed of t, which'],
    ['never finishes a step', at('step_finished', nothing), 'never ended, but the run did'],
    [
      'fails',
      at('crew_completed', (event) => line({ ...event, ...failure })),
      'The run failed with tired: Not today.',
    ],
  ])('says so of a crew that %s', async (_, { type, change }, words) => {
    const write = (event: Event): string => (event.type === type ? change(event) : line(event))
    const { stdout, exitCode } = await verifySmall({ write })
    expect(stdout).toContain(words)
    expect(exitCode).toBe(1)
  })

  it.each<[string, Faults, string]>([
    ['acts without an ack', { isHasty: true }, 'before its start was acknowledged'],
    ['begins anew', { isForgetful: true }, 'starts again; the journal has its result'],
    ['takes any result', { isCredulous: true }, 'such a step is done again'],
    ['has random keys', { keyOf: () => crypto.randomUUID() }, 'keys have to be the same'],
    ['has one key for all versions', { keyOf: (__, name) => name }, 'another version has to'],
    ['has one key for all steps', { keyOf: (version) => `v${version}` }, 'after it had finished'],
    ['says that it replays, and runs anew', { description: REPLAYS }, 'has reported step_started'],
    [
      'says that it replays, and takes no answers',
      { description: REPLAYS, write: withRequest },
      'taken 0 of the 2 answers',
    ],
    ['takes a stop for a failure', { failsToStop: true }, 'it failed with stopped: handed_over'],
  ])('says so of a crew with a journal that %s', async (_, faults, words) => {
    const { stdout, exitCode } = await verifySmall(faults)
    expect(stdout).toContain(words)
    expect(exitCode).toBe(1)
  })

  it('says so of a crew that never ends', async () => {
    const crew = await startSmallCrew({
      kickoff: (response) =>
        response.writeHead(200, { 'content-type': 'application/x-ndjson' }).flushHeaders(),
    })
    closers.push(async () => crew.stop())
    const { stdout } = await verify(crew.url, '--timeout', '1')
    expect(stdout).toContain('It did not end within 1 s. A run ends with one of')
  })

  it.skipIf(!hasPython)('finds nothing wrong with the example in Python', async () => {
    const port = await freePort()
    start('python3', 'docs/examples/crew.py', String(port))
    expect(await verifyExample(port)).toMatch(/^The crew speaks the contract: 12 checks\.$/m)
  })

  it('finds nothing wrong with the example in TypeScript', async () => {
    const port = await freePort()
    start(process.execPath, '--import', 'tsx', 'docs/examples/crew.ts', String(port))
    expect(await verifyExample(port)).toMatch(/^The crew speaks the contract: 12 checks\.$/m)
  })

  it('says that nobody is there', async () => {
    const { stderr, exitCode } = await verify(`http://127.0.0.1:${await freePort()}`)
    expect(stderr).toMatch(/^The crew at http:\/\/127.0.0.1:\d+ cannot be asked: .*ECONNREFUSED/)
    expect(exitCode).toBe(3)
  })

  it.each([
    ['no address', []],
    ['a path', ['/crew']],
    ['two addresses', ['http://a', 'http://b']],
    ['inputs that are a list', ['http://a', '--inputs', '[1]']],
    ['no time', ['http://a', '--timeout', '0']],
    ['an unknown option', ['http://a', '--fast']],
  ])('refuses %s with the usage', async (_, args) => {
    const { stderr, exitCode } = await verify(...args)
    expect(stderr).toContain('Usage: npm run crew:verify')
    expect(exitCode).toBe(64)
  })
})
