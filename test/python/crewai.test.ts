import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { RecordedStep } from '../../services/platform/crew-contract/crew-protocol.ts'
import {
  buildPythonPackage,
  readPythonPackage,
} from '../../services/shared/python-package/python-package.ts'
import { acknowledge, attemptRun } from '../../services/verify/attempt.ts'
import type { Attempt, Behaviour } from '../../services/verify/attempt.ts'
import { journalOf } from '../../services/verify/journal-checks.ts'
import { problemsOf } from '../../services/verify/rules.ts'
import { runVerify } from '../../services/verify/verify.ts'
import { startAdapter, TOKEN, writeProject } from './adapter.ts'
import { ASKING, IN_JSON, LETTERS } from './projects.ts'
import { MODEL_KEY, startModel } from './scripted-model.ts'

/** The newest one, and the oldest one that is supported: `ADAPTER=1.15.30,1.9.3` tries others. */
const VERSIONS = ['1.15.30', '1.14.7', '1.9.3']
const asked = process.env['ADAPTER'] ?? ''
const versions = asked === 'all' ? VERSIONS : asked.split(',').filter((each) => each !== '')
const hasUv = versions.length > 0 && spawnSync('uv', ['--version']).status === 0
if (versions.length > 0 && !hasUv) console.warn('CrewAI is not run: uv is not on the PATH')
const tried = hasUv ? versions : ['of some version']

const TEXTS: readonly (readonly [question: string, answer: string])[] = [
  ['Write the report on', '{"title": "On bees", "points": 3}'],
  ['Name the colours', 'Black and yellow'],
  ['Name the sounds', 'A hum'],
  ['Count the letters', 'It has 4 letters'],
]
const answer = (question: string): string =>
  TEXTS.find(([text]) => question.includes(text))?.[1] ?? 'Words of the model'

let model: Awaited<ReturnType<typeof startModel>>
let home: string
beforeAll(async () => {
  model = await startModel(answer)
  home = mkdtempSync(join(tmpdir(), 'adapter-crewai-'))
  const made = await readPythonPackage(new URL('../../python/crew-runtime/', import.meta.url))
  for (const { filename, content } of buildPythonPackage(made, '1.0.0')) {
    writeFileSync(join(home, filename), content)
  }
})
afterAll(() => model.stop())

/** What that many calls of the model have used. CrewAI 1.9 leaves out what was cached. */
const usageOf = (version: string, calls: number) => ({
  input_tokens: 10 * calls,
  output_tokens: 5 * calls,
  ...(version.startsWith('1.9.') ? {} : { cached_input_tokens: 4 * calls }),
})

const stops: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

function run(command: string, args: readonly string[], cwd = home): string {
  const env = { ...process.env, CREWAI_DISABLE_TELEMETRY: 'true', HOME: home }
  const cache = spawnSync('uv', ['cache', 'dir'], { encoding: 'utf8' }).stdout.trim()
  const made = spawnSync(command, args, {
    cwd,
    env: { ...env, UV_CACHE_DIR: cache },
    encoding: 'utf8',
    timeout: 300_000,
  })
  if (made.status !== 0) throw new Error(`${command} ${args.join(' ')}: ${made.stderr}`)
  return made.stdout
}

/** A virtual environment with this version of CrewAI and the wheel of the package. */
function install(version: string): string {
  const venv = join(home, version)
  run('uv', ['venv', '--quiet', '--python', '>=3.10,<3.14', venv])
  const wheel = join(home, 'crew_runtime-1.0.0-py3-none-any.whl')
  const into = ['--quiet', '--python', join(venv, 'bin/python')]
  run('uv', ['pip', 'install', ...into, `crewai==${version}`, wheel])
  return join(venv, 'bin')
}

async function start(bin: string, project: string) {
  const env = { PYTHONPATH: '', CREW_PROJECT: project }
  const adapter = await startAdapter({ python: join(bin, 'python'), env })
  stops.push(() => adapter.stop())
  await adapter.ready()
  return adapter
}

const MODELS = ['gpt-5', 'claude-sonnet-4-5', 'gpt-4o-mini', 'gpt-4.1-mini', 'gpt-5.4-mini']

const kickoffOf = (inputs: object, journal: readonly RecordedStep[] = []) => ({
  kickoff_id: randomUUID(),
  inputs,
  version: 1,
  journal,
  models: Object.fromEntries(MODELS.map((name) => [name, model.endpoint])),
})

async function attempt(
  url: string,
  kickoff: object,
  hear: NonNullable<Behaviour['hear']> = acknowledge,
): Promise<Attempt> {
  const common = { url, token: TOKEN, isOpen: true, timeoutMs: 120_000 }
  return attemptRun({ ...common, kickoff, hear })
}

const eventsOf = ({ lines }: Attempt) =>
  lines.flatMap(({ event }) =>
    event && event.type !== 'other' && event.type !== 'heartbeat' ? [event] : [],
  )
const endOf = (made: Attempt) => eventsOf(made).at(-1)
const callsOf = (made: Attempt) =>
  eventsOf(made).flatMap((event) =>
    event.type === 'tool_call'
      ? [`${event.task}: ${event.name}(${event.arguments}) = ${event.result}`]
      : [],
  )

const created = (bin: string, kind: 'crew' | 'flow'): string => {
  const folder = mkdtempSync(join(home, 'created-'))
  const help = run(join(bin, 'crewai'), ['create', '--help'])
  const options = ['--classic', '--skip-provider', '--skip_provider'].filter(
    (each) => help.includes(each) && (kind === 'crew' || each !== '--classic'),
  )
  run(join(bin, 'crewai'), ['create', kind, 'latest_ai', ...options], folder)
  return join(folder, 'latest_ai')
}

describe.skipIf(!hasUv).each(tried)('CrewAI %s behind the package crew-runtime', (version) => {
  let bin: string
  beforeAll(() => {
    bin = install(version)
  }, 600_000)

  it('runs a project as crewai create crew makes it', { timeout: 300_000 }, async () => {
    const { url, log } = await start(bin, created(bin, 'crew'))
    const { inputs } = (await (await fetch(`${url}/inputs`)).json()) as { inputs: string[] }
    expect(inputs).toEqual(['current_year', 'topic'])
    const made = await attempt(url, kickoffOf({ topic: 'bees', current_year: '2026' }))
    expect(problemsOf(made, { isJournaled: true, secrets: [MODEL_KEY] }), log()).toEqual([])
    const tasks = eventsOf(made).flatMap((event) =>
      event.type === 'task_started' || event.type === 'task_completed' ? [event.task] : [],
    )
    const [first, second] = ['research_task', 'reporting_task']
    expect(tasks).toEqual([first, first, second, second])
    const report = { type: 'artifact', name: 'report.md', content: 'Words of the model' }
    expect(eventsOf(made)).toContainEqual(expect.objectContaining(report))
    const calls = eventsOf(made).filter(({ type }) => type === 'llm_call')
    expect(endOf(made)).toMatchObject({
      type: 'crew_completed',
      output: 'Words of the model',
      usage: usageOf(version, calls.length),
    })
    expect(log()).not.toContain(MODEL_KEY)
  })

  it('pays for nothing twice, wherever a run was interrupted', { timeout: 300_000 }, async () => {
    const { url } = await start(bin, await writeProject(LETTERS))
    const inputs = { topic: 'bees' }
    const before = model.asked.length
    const first = await attempt(url, kickoffOf(inputs))
    const calls = model.asked.length - before
    expect(problemsOf(first, { isJournaled: true, secrets: [MODEL_KEY] })).toEqual([])
    const end = { type: 'crew_completed', usage: usageOf(version, calls) }
    expect(endOf(first)).toMatchObject(end)
    expect(JSON.parse(String(Object(endOf(first)).output))).toEqual({ title: 'On bees', points: 3 })
    expect(callsOf(first)).toEqual(['count: count_letters({"text": "bees"}) = 4 letters'])
    expect(calls).toBe(5)

    const parts = journalOf({
      ...first,
      lines: first.lines.filter(({ event }) => !isEndOfTask(first, event)),
    })
    for (const kept of [1, Math.ceil(parts.length / 2), parts.length]) {
      const journal = parts.slice(0, kept)
      const asked = model.asked.length
      const again = await attempt(url, kickoffOf(inputs, journal))
      expect(endOf(again)).toMatchObject(end)
      const answers = journal.filter(({ kind }) => kind === 'llm').length
      expect(model.asked.length - asked).toBe(calls - answers)
    }
    const whole = await attempt(url, kickoffOf(inputs, journalOf(first)))
    expect(eventsOf(whole).map(({ type }) => type)).toEqual(['crew_started', 'crew_completed'])
    expect(Object(endOf(whole)).output).toBe(Object(endOf(first)).output)
  })

  it('asks for the service tier of a batch while it has room', { timeout: 300_000 }, async () => {
    const { url } = await start(bin, await writeProject(LETTERS))
    const kickoff = kickoffOf({ topic: 'bees' })
    const endpoint = { ...model.endpoint, service_tier: 'flex' }
    const models = Object.fromEntries(MODELS.map((name) => [name, endpoint]))
    const asked = (since: number) => model.asked.slice(since).map((each) => each.service_tier)
    const tiersOf = (made: Attempt) =>
      eventsOf(made).flatMap((event) => (event.type === 'llm_call' ? [event.service_tier] : []))
    const paidOf = (made: Attempt) =>
      eventsOf(made).flatMap((event) =>
        event.type === 'step_finished' && event.usage?.service_tier ? [event.usage] : [],
      )
    let before = model.asked.length
    const flex = await attempt(url, { ...kickoff, models })
    expect(endOf(flex)).toMatchObject({ type: 'crew_completed' })
    expect(new Set(asked(before))).toEqual(new Set(['flex']))
    expect(new Set(tiersOf(flex))).toEqual(new Set(['flex']))
    expect(paidOf(flex)).toHaveLength(5)

    model.tiers.refusal = [400, 'service_tier flex is not available for this model']
    before = model.asked.length
    const usual = await attempt(url, { ...kickoff, models }).finally(() => {
      delete model.tiers.refusal
    })
    expect(endOf(usual)).toMatchObject({ type: 'crew_completed' })
    expect(asked(before)).toContain(undefined)
    expect(new Set(tiersOf(usual))).toEqual(new Set(['default']))
    expect(paidOf(usual)).toEqual([])
    const refused = eventsOf(usual).flatMap((event) =>
      event.type === 'llm_call' && event.refused_tier ? [event.refused_tier.tier] : [],
    )
    expect(new Set(refused)).toEqual(new Set(['flex']))
  })

  it('speaks the contract', { timeout: 300_000 }, async () => {
    const { url } = await start(bin, created(bin, 'crew'))
    let said = ''
    const output = { out: (text: string) => (said += text), err: (text: string) => (said += text) }
    const args = [url, '--model', 'gpt-5', '--timeout', '120']
    expect(await runVerify(args, { CREW_TOKEN: TOKEN }, output), said).toBe(0)
    expect(said).not.toContain('skipped')
  })

  it('waits for a person, and takes what was decided', { timeout: 300_000 }, async () => {
    const { url } = await start(bin, await writeProject(ASKING))
    const first = await attempt(url, kickoffOf({}))
    expect(endOf(first)).toMatchObject({
      type: 'approval_requested',
      task: 'letter',
      output: 'Words of the model',
    })
    const { step } = Object(endOf(first))
    const decide = (result: object) =>
      attempt(url, kickoffOf({}, [...journalOf(first), { step, kind: 'approval', result }]))
    const edited = await decide({ decision: 'edit', text: 'Words of a person' })
    expect(endOf(edited)).toMatchObject({ type: 'crew_completed', output: 'Words of a person' })
    const rejected = await decide({ decision: 'reject', text: 'Too short' })
    expect(endOf(rejected)).toMatchObject({
      type: 'failed',
      error: { code: 'approval_rejected', message: expect.stringContaining('Too short') },
    })
  })

  it('runs a flow as crewai create flow makes it', { timeout: 300_000 }, async () => {
    const { url, log } = await start(bin, created(bin, 'flow'))
    expect(await (await fetch(`${url}/inputs`)).json()).toMatchObject({ inputs: [] })
    const made = await attempt(url, kickoffOf({}))
    expect(problemsOf(made, { isJournaled: true, secrets: [MODEL_KEY] }), log()).toEqual([])
    expect(endOf(made)).toMatchObject({ type: 'crew_completed' })
    const others = made.lines.flatMap(({ event }) =>
      event?.type === 'other' ? [event.event.type] : [],
    )
    expect(others).toContain('crewai_method_execution_finished')
  })

  it.runIf(version.startsWith('1.15.'))(
    'runs a project in JSON',
    async () => {
      const { url } = await start(bin, await writeProject(IN_JSON))
      expect(await (await fetch(`${url}/inputs`)).json()).toMatchObject({ inputs: [] })
      const made = await attempt(url, kickoffOf({}))
      expect(endOf(made)).toMatchObject({ type: 'crew_completed', output: 'Words of the model' })
      expect(JSON.stringify(model.asked.at(-1)?.messages)).toContain('Write on bees')
    },
    300_000,
  )

  it('never sends the key of a model elsewhere, and asks no model without it', () => {
    expect(model.strangers).toEqual([])
  })
})

function isEndOfTask(made: Attempt, event: Attempt['lines'][number]['event']): boolean {
  if (event?.type !== 'step_finished') return false
  return eventsOf(made).some(
    (each) => each.type === 'step_started' && each.kind === 'task' && each.step === event.step,
  )
}
