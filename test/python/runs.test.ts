import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { requestDigest } from '../../services/platform/crew-contract/step-request.ts'
import { acknowledge, attemptRun } from '../../services/verify/attempt.ts'
import type { Attempt, Behaviour } from '../../services/verify/attempt.ts'
import { startAdapter, TOKEN, whyNoPython, writeProject } from './adapter.ts'
import { startModel } from './scripted-model.ts'
import { few, isLong } from '../support/long.ts'

const whyNot = whyNoPython()
const stops: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

async function start(program: string, env: Readonly<Record<string, string>> = {}) {
  const project = await writeProject({ 'main.py': program, 'notes/old.txt': 'old' })
  const settings = { CREW_PROJECT: project, CREW_ENTRYPOINT: 'main:run', ...env }
  const adapter = await startAdapter({ env: settings })
  stops.push(() => adapter.stop())
  await adapter.ready()
  return adapter
}

const attempt = (url: string, more: Partial<Behaviour> & { kickoff?: object } = {}) =>
  attemptRun({
    url,
    token: TOKEN,
    isOpen: true,
    timeoutMs: 30_000,
    ...more,
    kickoff: { kickoff_id: randomUUID(), inputs: {}, version: 1, journal: [], ...more.kickoff },
  })

const eventsOf = ({ lines }: Attempt) =>
  lines.flatMap(({ event }) => (event?.type === 'other' ? [event.event] : event ? [event] : []))
const typesOf = (made: Attempt) =>
  eventsOf(made).flatMap(({ type }) => (type === 'heartbeat' ? [] : [type]))
const endOf = (made: Attempt) => eventsOf(made).at(-1)

/** Goes on, beside other steps, until a file says so. */
const WAITING = `
import pathlib, subprocess, sys, tempfile, time
flag = pathlib.Path(tempfile.gettempdir(), "go")
def wait(context):
    context.report("waiting")
    while not flag.exists(): time.sleep(0.02)
    return "waited"
def run(inputs, context):
    context.step("wait", lambda: wait(context))
    return context.step("then", lambda: "then")
`

/** Asks a model, and once more for a tier that the program names itself. */
const MODELLED = `
def run(inputs, context):
    question = [{"role": "user", "content": "Hello"}]
    context.model("gpt-5", question)
    return context.model("gpt-5", question, service_tier="priority").text
`

describe.skipIf(whyNot !== undefined)('a run of a Python project', () => {
  it('asks for the service tier of a batch, and says by which it was answered', async () => {
    const model = await startModel(() => 'Hi')
    stops.push(() => model.stop())
    const { url } = await start(MODELLED)
    const endpoint = { ...model.endpoint, service_tier: 'flex' }
    const play = async (service_tier?: string) => {
      model.asked.length = 0
      const made = await attempt(url, {
        hear: acknowledge,
        kickoff: { models: { 'gpt-5': { ...endpoint, service_tier } } },
      })
      const events = eventsOf(made)
      expect(endOf(made)).toMatchObject({ type: 'crew_completed', output: 'Hi' })
      return {
        asked: model.asked.map((each) => each.service_tier),
        billed: events.flatMap((event) =>
          event.type === 'step_finished' ? [Object(event).usage.service_tier] : [],
        ),
        refused: events.flatMap((event) =>
          event.type === 'llm_call' ? [Object(event).refused_tier] : [],
        ),
        requests: events.flatMap((event) =>
          event.type === 'step_started' ? [Object(event).request.parameters] : [],
        ),
      }
    }
    const priority = [{}, { service_tier: 'priority' }]
    expect(await play()).toMatchObject({ asked: [undefined, 'priority'], requests: priority })
    expect(await play('flex')).toEqual({
      asked: ['flex', 'priority'],
      billed: ['flex', 'priority'],
      refused: [undefined, undefined],
      // No part of the request: its replay finds the answer.
      requests: priority,
    })
  })

  it.each([
    [429, 'Resource unavailable'],
    [503, 'Overloaded'],
    [400, 'Unknown parameter: service_tier'],
  ])('asks for the usual tier where that of a batch is refused with %i', async (status, said) => {
    const model = await startModel(() => 'Hi')
    stops.push(() => model.stop())
    model.tiers.refusal = [status, said]
    const { url } = await start(MODELLED.replace(', service_tier="priority"', ''))
    const endpoint = { ...model.endpoint, service_tier: 'flex' }
    const made = await attempt(url, {
      hear: acknowledge,
      kickoff: { models: { 'gpt-5': endpoint } },
    })
    expect(model.asked.map((each) => each.service_tier)).toEqual([
      'flex',
      undefined,
      'flex',
      undefined,
    ])
    expect(eventsOf(made)).toContainEqual(
      expect.objectContaining({
        type: 'llm_call',
        service_tier: 'default',
        refused_tier: {
          tier: 'flex',
          error: { code: 'llm_rejected', message: expect.stringContaining(said) },
        },
      }),
    )
    const paid = eventsOf(made).filter(({ type }) => type === 'step_finished')
    expect(paid.map((event) => Object(event).usage.service_tier)).toEqual([undefined, undefined])
  })

  it('is handed over on SIGTERM after the step that goes on', async () => {
    const { url, home, stop, log } = await start(WAITING)
    let stopped: Promise<number> | undefined
    const made = await attempt(url, {
      hear(line, worker) {
        acknowledge(line, worker)
        if (line.event?.type === 'other') stopped = stop()
        if (line.event?.type === 'crew_stopping') writeFileSync(join(home, 'go'), '')
      },
    })
    expect(log()).not.toContain('Traceback')
    expect(typesOf(made).slice(-4)).toEqual([
      'crew_stopping',
      'tool_call',
      'step_finished',
      'handed_over',
    ])
    expect(await stopped).toBe(0)
  })

  it.runIf(isLong)('is cut off after CREW_DRAIN_SECONDS when it does not end', async () => {
    const { url, stop } = await start(WAITING, { CREW_DRAIN_SECONDS: '2' })
    let stopped: Promise<number> | undefined
    const made = await attempt(url, {
      hear(line, worker) {
        acknowledge(line, worker)
        if (line.event?.type === 'other') stopped = stop()
      },
    })
    expect(endOf(made)).toMatchObject({ type: 'crew_stopping' })
    expect(await stopped).toBe(0)
  })

  it('ends with all that it has started when its worker leaves', async () => {
    const child = 'subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]).pid'
    const program = WAITING.replace('report("waiting"', `report("waiting", pid=${child}`)
    const { url } = await start(program)
    let pid = 0
    await attempt(url, {
      hear(line, worker) {
        acknowledge(line, worker)
        if (line.event?.type !== 'other') return
        pid = Number(line.event.event['pid'])
        worker.leave()
      },
    })
    const isThere = (): boolean => {
      try {
        return process.kill(pid, 0)
      } catch {
        return false
      }
    }
    await expect.poll(isThere).toBe(false)
  })

  it('is refused while there are as many as there may be', async () => {
    const { url } = await start(WAITING, { CREW_CONCURRENCY: '1' })
    let second: Promise<Attempt> | undefined
    await attempt(url, {
      hear(line, worker) {
        acknowledge(line, worker)
        if (line.event?.type !== 'step_started') return
        second = attempt(url).finally(worker.leave)
      },
    })
    expect(await second).toMatchObject({ status: 429, cut: expect.stringContaining('1 runs') })
  })

  it.runIf(isLong)('is lost, and the log says how, when its process is killed', async () => {
    const program = 'import os\ndef run(inputs): os.kill(os.getpid(), 9)'
    const { url, log } = await start(program)
    const made = await attempt(url)
    expect(typesOf(made)).toEqual(['crew_started'])
    const words = 'it was killed (SIGKILL); most often it needed more memory than there is'
    await expect.poll(log).toContain(words)
  })

  const failures = [
    ['raises', 'raise KeyError("topic")', "KeyError: 'topic'"],
    ['ends the program', 'raise SystemExit("enough")', 'SystemExit: enough'],
    ['asks for input', 'input()', 'EOFError: EOF when reading a line'],
  ] as const
  it.each(few(failures, 1))('fails when it %s', async (_, line, message) => {
    const { url, log } = await start(`def run(inputs):\n    ${line}\n`)
    const error = { code: 'crew_failed', message }
    expect(endOf(await attempt(url))).toMatchObject({ type: 'failed', error })
    expect(log()).toContain('Traceback')
  })

  it('tells no key and no token, in events or in the log', async () => {
    const program = `
import os, crew_runtime
def run(inputs, context):
    token = crew_runtime.connection("tickets").headers["Authorization"]
    print("token", token, os.environ.get("CREW_TOKEN"), os.environ["CREW_CONNECTION_TICKETS"])
    context.step(token, lambda: os.environ["OPENAI_API_KEY"])
    raise ValueError(f"refused: {token}")
`
    const { url, log } = await start(program)
    const made = await attempt(url, {
      kickoff: {
        models: { 'gpt-5': { base_url: 'http://127.0.0.1:9/v1', api_key: 'key-of-the-model' } },
        connections: { tickets: { access_token: 'token-of-tickets' } },
      },
    })
    const error = { message: 'ValueError: refused: Bearer [redacted]' }
    expect(endOf(made)).toMatchObject({ type: 'failed', error })
    expect(log()).toContain('token Bearer [redacted] None [redacted]')
    const said = JSON.stringify(made.lines) + log()
    for (const secret of ['key-of-the-model', 'token-of-tickets', TOKEN]) {
      expect(said).not.toContain(secret)
    }
  })

  it.runIf(isLong)(
    'finds its files, and what it writes beside them becomes an artifact',
    async () => {
      const program = `
import pathlib
def run(inputs, context):
    old = pathlib.Path("notes/old.txt").read_text()
    pathlib.Path("report.md").write_text(f"new beside {old}")
    with context.task("write") as task: task.finish("written")
    context.artifact("extra.txt", "more")
    return {"list": [1, "é"]}
`
      const made = await attempt((await start(program)).url)
      const artifacts = eventsOf(made).filter(({ type }) => type === 'artifact')
      expect(artifacts).toMatchObject([
        { task: 'write', name: 'extra.txt', content: 'more' },
        { task: 'write', name: 'report.md', content: 'new beside old' },
      ])
      expect(endOf(made)).toMatchObject({ type: 'crew_completed', output: '{"list": [1, "é"]}' })
    },
  )

  it('has the files of its inputs as paths, which lead nowhere else', async () => {
    const program = `
import pathlib
def run(inputs, context):
    for path in inputs["more"], inputs["../report"]:
        assert pathlib.Path(path).resolve().is_relative_to(pathlib.Path.cwd()), path
    return [inputs["../report"], pathlib.Path(inputs["../report"]).read_text(), inputs["other"]]
`
    const about = { media_type: 'text/plain', size: 4 }
    const content_base64 = Buffer.from('bees').toString('base64')
    const files = {
      a: { ...about, name: 'q3.txt', content_base64 },
      b: { ...about, name: '/../../etc/passwd', content_base64 },
    }
    const other = { file_id: 'nobody has sent it' }
    const inputs = { '../report': { file_id: 'a' }, more: { file_id: 'b' }, other }
    const made = await attempt((await start(program)).url, { kickoff: { inputs, files } })
    const output = JSON.stringify(['input-files/_report/q3.txt', 'bees', other])
    expect(JSON.parse(String(endOf(made)?.['output' as never]))).toEqual(JSON.parse(output))
    expect(typesOf(made)).not.toContain('artifact')
  })

  it('reports no steps to a worker that keeps no journal', async () => {
    const { url } = await start('def run(inputs, context): return context.step("a", lambda: "b")')
    const kickoff = { kickoff_id: randomUUID(), inputs: {} }
    const made = await attemptRun({ url, token: TOKEN, isOpen: false, timeoutMs: 30_000, kickoff })
    const [first, ...others] = typesOf(made)
    expect([first, others.at(-1)]).toEqual(['crew_started', 'crew_completed'])
    expect(others.filter((type) => type.startsWith('step_'))).toEqual([])
  })

  it.runIf(isLong)('retries a step that failed as the same step', async () => {
    const program = `
tries = []
def act():
    tries.append(1)
    if len(tries) < 3: raise ValueError("not yet")
    return "done"
def run(inputs, context):
    while True:
        try: return context.step("flaky", act)
        except ValueError: continue
`
    const made = await attempt((await start(program)).url)
    const keys = eventsOf(made).flatMap((event) =>
      event.type === 'step_started' ? [Object(event).step] : [],
    )
    expect(keys).toHaveLength(3)
    expect(new Set(keys).size).toBe(1)
    expect(endOf(made)).toMatchObject({ type: 'crew_completed', output: 'done' })
  })

  it.runIf(isLong)(
    'goes on in a process of its own, which knows nothing of the run before',
    async () => {
      const program = `
import os
runs = []
def run(inputs):
    runs.append(1)
    os.environ["SEEN"] = os.environ.get("SEEN", "") + "x"
    return f'{len(runs)} {os.environ["SEEN"]}'
`
      const { url } = await start(program)
      const outputs = [await attempt(url), await attempt(url)].map((made) => endOf(made))
      expect(outputs).toMatchObject([{ output: '1 x' }, { output: '1 x' }])
    },
  )
})

/** Takes whatever is raised for an answer, and waits for a file, or to be stopped. */
const STUBBORN = `
import pathlib, tempfile, time
from crew_runtime.run import current_run
flag = pathlib.Path(tempfile.gettempdir(), "go")
def run(inputs, context):
    first = context.step("first", lambda: "never")
    context.report("between")
    while not (flag.exists() or current_run().channel.is_stopping): time.sleep(0.02)
    try: return first + context.step("second", lambda: "never")
    except BaseException as error: return f"caught {error!r}"
`

describe.skipIf(whyNot !== undefined)('a replay by a Python project', () => {
  const answer = { kind: 'tool', path: ['crew', 'tool', 'first', '0'], result: { of: 'first' } }
  const asked = { tool: 'first', arguments: {} }
  const known = { ...answer, request_sha256: requestDigest(asked) }
  const answers = [{ ...known, result: { ...known.result, result: 'Recorded.' } }]

  it('ends at what the record does not answer, though the project takes each error', async () => {
    const { url, home } = await start(STUBBORN)
    writeFileSync(join(home, 'go'), '')
    const made = await attempt(url, { kickoff: { replay: { answers } } })
    const told = eventsOf(made).filter(({ type }) => !type.startsWith('task_'))
    expect(told).toMatchObject([
      { type: 'crew_started' },
      { type: 'replay_answered', answer: 0 },
      { type: 'between' },
      { type: 'replay_diverged', kind: 'tool', name: 'second', request: { tool: 'second' } },
      { type: 'failed', error: { code: 'replay_diverged' } },
    ])
  })

  it('is handed over before its next answer when it is to stop', async () => {
    const { url } = await start(STUBBORN)
    const made = await attempt(url, {
      kickoff: { replay: { answers } },
      hear(line, worker) {
        acknowledge(line, worker)
        if (line.event?.type === 'other') worker.tell({ stop: true })
      },
    })
    expect(typesOf(made)).not.toContain('replay_diverged')
    expect(endOf(made)).toMatchObject({ type: 'handed_over' })
  })
})
