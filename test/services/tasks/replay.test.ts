import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createCaseSet } from '../../../services/platform/evaluations/case-sets.ts'
import { addCases } from '../../../services/platform/evaluations/cases.ts'
import { finishCase, takeCases } from '../../../services/platform/evaluations/evaluation-queue.ts'
import { closeEvaluations } from '../../../services/platform/evaluations/scores.ts'
import { evaluateSet } from '../../../services/tasks/evaluate/evaluate-set.ts'
import { readEvaluateRequest } from '../../../services/tasks/evaluate/options.ts'
import { finishReplay, takeReplays } from '../../../services/platform/replays/replay-queue.ts'
import type { ReplayResult } from '../../../services/platform/replays/replay-queue.ts'
import { createLog } from '../../../services/shared/log.ts'
import { readReplayRequest } from '../../../services/tasks/replay/options.ts'
import { replayRuns } from '../../../services/tasks/replay/replay-runs.ts'
import { start } from '../../../services/web/start.ts'
import { environment, openPlatform } from '../web/support/platform.ts'
import type { Platform } from '../web/support/platform.ts'

let platform: Platform
let web: Awaited<ReturnType<typeof start>>
let token: string
/** What the stand-in of the worker finds of each run, in their order; nothing: it does nothing. */
let found: readonly ReplayResult[] = []

const asks = (content: string) => ({ model: 'm', messages: [{ role: 'user', content }] })
const EQUAL: ReplayResult = { state: 'equal' }
const DIFFERENT: ReplayResult = {
  state: 'different',
  reason: 'm is asked something else at write / writer / llm / 0.',
  step: { kind: 'llm', name: 'm', path: ['write', 'writer', 'llm', '0'] },
  request: asks('Write an abstract.'),
}
const IMPOSSIBLE: ReplayResult = { state: 'impossible', reason: 'The run is too old.' }

beforeAll(async () => {
  platform = await openPlatform()
  token = await platform.issueToken(platform.acme)
  web = await start(environment(platform.url), {
    log: createLog({ name: 'test', level: 'silent' }),
  })
  await platform.sql.listen('replay_queued', () => void work())
})

beforeEach(async () => {
  await platform.sql`delete from executions`
  await platform.sql`
    insert into executions (deployment_id, inputs, status, output, finished_at)
    select ${platform.acme.research.id}, '{}', 'completed', 'x', now() from generate_series(1, 2)`
})

afterAll(async () => {
  await web.stop()
  await platform.close()
})

async function work(): Promise<void> {
  if (found.length === 0) return
  const taken = await takeReplays(platform.sql, 10)
  for (const [index, each] of taken.entries()) {
    await finishReplay(platform.sql, each, found[index] ?? EQUAL)
  }
}

/** Runs the task as a person would. */
async function run(args: readonly string[] = [], url = web.url) {
  const given = ['--automation', platform.acme.research.automationId, '--version', '1']
  const source = { PLATFORM_API_TOKEN: token }
  const request = readReplayRequest([...given, '--offline', '--url', url, ...args], source)
  if (!request) throw new Error('it asks for help')
  let [result, problem] = ['', '']
  const code = await replayRuns(request, {
    result: (text) => void (result += text),
    problem: (text) => void (problem += text),
  })
  return { code, result, problem }
}

describe('the task replay', () => {
  it('says that all runs are equal, with its progress, and ends with 0', async () => {
    found = [EQUAL, EQUAL]
    const { code, result, problem } = await run()
    expect(code).toBe(0)
    expect(result).toBe('Version 1: 2 of 2 done: 2 equal, 0 different, 0 not possible\n')
    expect(problem).toContain('2 of 2 done: 2 equal')
  })

  it('prints what a step asks that differs, and ends with 2', async () => {
    found = [EQUAL, DIFFERENT]
    const { code, result } = await run(['--last', '2'])
    expect(code).toBe(2)
    expect(result).toMatch(/\n\ndifferent {2}[0-9a-f-]{36} {2}m is asked something else at write/)
    expect(result).toContain('\n    + Write an abstract.\n')
  })

  it('ends with 4 when a run cannot be replayed and none differs', async () => {
    found = [EQUAL, IMPOSSIBLE]
    const { code, result } = await run(['--json'])
    expect(code).toBe(4)
    expect(JSON.parse(result)).toMatchObject({
      replay: { runs: 2, equal: 1, impossible: 1 },
      runs: [{ state: 'impossible', reason: 'The run is too old.' }, { state: 'equal' }],
    })
  })

  it('ends with 3 when it is not done in time, or the platform cannot be reached', async () => {
    found = []
    const late = await run(['--timeout', '1'])
    expect([late.code, late.problem]).toEqual([3, expect.stringContaining('not done within 1 s')])
    await platform.sql`delete from replays`
    const lost = await run([], 'http://127.0.0.1:9')
    expect([lost.code, lost.problem]).toEqual([3, expect.stringContaining('cannot be reached')])
  })

  it('raises what the platform refuses', async () => {
    await expect(run(['--of-version', '98'])).rejects.toThrow('No run of this automation')
    await expect(run(['--status', 'odd'])).rejects.toThrow('status')
  })

  it.each([
    [['--version', '0'], '--version is a whole number'],
    [['--automation', 'x'], '--automation is the id'],
    [['--odd'], "Unknown option '--odd'"],
  ])('refuses %j, and prints its help', async (args, why) => {
    await expect(run(args)).rejects.toThrow(why)
  })

  it('asks for --offline or --live, and takes no both', () => {
    const id = platform.acme.research.automationId
    const args = ['--automation', id, '--version', '1', '--url', 'https://x.test']
    const read = (...more: string[]) =>
      readReplayRequest([...args, ...more], { PLATFORM_API_TOKEN: token })
    expect(() => read()).toThrow('Say --offline')
    expect(() => read('--offline', '--live')).toThrow('Say --offline')
    expect(read('--live', '--tokens-max', '500')?.fields).toMatchObject({
      mode: 'live',
      tokens_max: 500,
    })
  })
})

describe('the task evaluate', () => {
  const evaluate = async (args: readonly string[] = []) => {
    const given = ['--automation', platform.acme.research.automationId, '--set', 'Support']
    const source = { PLATFORM_API_TOKEN: token }
    const all = [...given, '--version', '1', '--url', web.url, ...args]
    const request = readEvaluateRequest(all, source)
    if (!request) throw new Error('it asks for help')
    let [result, problem] = ['', '']
    const code = await evaluateSet(request, {
      result: (text) => void (result += text),
      problem: (text) => void (problem += text),
    })
    return { code, result, problem }
  }
  let isWorking = true

  beforeAll(async () => {
    const { research } = platform.acme
    const set = await createCaseSet(platform.sql, research, { name: 'Support', checks: [] })
    const inputs = [{ n: 1 }, { n: 2 }]
    await addCases(
      platform.sql,
      set,
      inputs.map((each) => ({ name: null, inputs: each, expected: null })),
    )
    await platform.sql.listen('evaluation_queued', () => void perform())
  })

  async function perform(): Promise<void> {
    if (!isWorking) return
    for (const taken of await takeCases(platform.sql, 10)) {
      const state = taken.inputs['n'] === 1 ? 'passed' : 'failed'
      await finishCase(platform.sql, taken, { state, reason: 'It is not good.', usd: 0.5 })
    }
    await closeEvaluations(platform.sql)
  }

  it.each([
    ['0.5', 0],
    ['0.51', 2],
  ])('with at least %s passed ends with %i, and prints the scores', async (share, wanted) => {
    const { code, result, problem } = await evaluate(['--at-least', share])
    expect(code).toBe(wanted)
    expect(result).toMatch(/^Version 1: 1 of 2 cases pass, 50 % \(95 %: 9.5 % to 90.5 %\); 0 uns/)
    expect(result).toMatch(/\nfailed {2}[0-9a-f-]{36} {2}version 1: It is not good\.\n$/)
    expect(problem).toContain('2 of 2 done\n')
  })

  it('prints JSON, and takes no case that became worse if it is told so', async () => {
    const args = '--against 1 --no-worse --at-least 0 --json'
    const { code, result } = await evaluate(args.split(' '))
    expect(code).toBe(0)
    expect(JSON.parse(result)).toMatchObject({
      evaluation: { scores: { difference: { better: 0, worse: 0, of: 2 } } },
      worse: [],
    })
  })

  it('ends with 3 when it is not done in time', async () => {
    isWorking = false
    const { code, problem } = await evaluate(['--timeout', '1'])
    expect([code, problem]).toEqual([3, expect.stringContaining('not done within 1 s: 0 of 2')])
  })

  it.each([
    [['--at-least', '90'], 'from 0 to 1'],
    [['--no-worse'], 'needs --against'],
    [['--repeat', 'x'], '--repeat is a whole number'],
    [['--set', ''], 'Name the --set'],
  ])('refuses %j, and prints its help', async (args, why) => {
    await expect(evaluate(args)).rejects.toThrow(why)
  })
})
