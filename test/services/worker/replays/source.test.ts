import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { findReplayedRun } from '../../../../services/platform/replays/replay-results.ts'
import { createReplay } from '../../../../services/platform/replays/replays.ts'
import { startRetry } from '../../../../services/platform/runs/run-again.ts'
import { seedAutomation } from '../../../support/platform.ts'
import { few, firstOfEach, isLong } from '../../../support/long.ts'
import { whyNoPython } from '../../../python/adapter.ts'
import { MODEL_KEY } from '../../../python/scripted-model.ts'
import { openSourceStage } from './source-stage.ts'

const whyNot = whyNoPython()
if (whyNot !== undefined) console.log(`crews from source are not replayed: ${whyNot}`)

const stage = await openSourceStage({ answer: (question) => `Answer to: ${question}` })
const { platform, sql, addVersion, replay } = stage

/** A tool that counts its calls, models in two tasks, and a call of a model within a tool. */
const PROJECT = {
  'variant.json': '{}',
  'pyproject.toml': '[tool.crew-runtime]\nentrypoint = "crew:run"\ninputs = ["topic"]\n',
  'crew.py': `
import datetime, json, os, random, subprocess, urllib.request

def look():
    with urllib.request.urlopen(os.environ["TOOL_URL"]) as page:
        return page.read().decode()

tries = []
def flaky():
    tries.append(1)
    if len(tries) < 2:
        raise ValueError("not yet")
    return "at last"

def run(inputs, context):
    variant = json.load(open("variant.json"))
    told = lambda name: eval(variant.get(name, "''"), globals(), {"context": context})
    found = context.step("look", look)
    try:
        late = context.step("flaky", flaky)
    except ValueError as error:
        late = str(error) + ", then " + context.step("flaky", flaky)
    def ask(text, **options):
        messages = [{"role": "user", "content": text}]
        return context.model("gpt-5", messages, **options).text
    inner = context.step("inner", lambda: ask("Within a tool"))
    with context.task("first", "The first") as task:
        first = ask("Sum up " + inputs["topic"] + found, temperature=0.5)
        task.finish(first)
    token = context.connection("tickets").access_token if variant.get("connects") else ""
    told("between")
    with context.task("second", "The second") as task:
        warmth = variant.get("temperature", 0)
        second = ask("Shorten " + first + late + told("last"), temperature=warmth)
        task.finish(second)
    return second + inner + token + told("end")
`,
}

let folder: string

beforeAll(async () => {
  if (whyNot === undefined) folder = await stage.deploySource(PROJECT)
})
beforeEach(async () => {
  await sql`delete from replays`
  await platform.startWorker()
})
afterEach(() => sql`delete from executions`)
afterAll(async () => {
  await stage.stopCrews()
  await stage.stopServers()
})

/** Makes a version with changes; returns its number. */
async function publish(variant: Readonly<Record<string, unknown>> = {}): Promise<number> {
  await writeFile(join(folder, 'variant.json'), JSON.stringify(variant))
  return addVersion()
}

async function record(status: 'completed' | 'error' = 'completed'): Promise<string> {
  const id = await platform.kickoff({ topic: 'whales 🐋 "\\\u0001' })
  await platform.until(id, status)
  return id
}

const SECOND = ['second', expect.any(String), 'llm', expect.stringMatching(/^[0-9a-f]{16}$/), '0']

describe.skipIf(whyNot !== undefined)('a replay of a crew from source', () => {
  it('is equal with the same version, and asks nobody', async () => {
    const version = await publish()
    const ids = [await record(), ...(isLong ? [await record()] : [])]
    const before = stage.calls()
    const { runs, id: replayId } = await replay(version)
    const found = runs.map(({ state, reason }) => reason ?? state)
    expect(found).toEqual(ids.map(() => 'equal'))
    expect(stage.calls()).toBe(before)
    for (const runId of ids) {
      const found = await findReplayedRun(sql, { replayId, runId })
      const run = await platform.get(runId)
      expect(found?.output).toBe(run?.output)
      const { input_tokens: inputTokens, output_tokens: outputTokens } = found?.usage ?? {}
      expect({ inputTokens, outputTokens }).toEqual(run?.usage)
    }
    expect(stage.model.strangers).toEqual([])
    expect(stage.logs()).not.toContain(MODEL_KEY)
  })

  const changes: readonly (readonly [string, object, object])[] = [
    ['a word in a prompt', { last: '" anew"' }, { kind: 'llm', path: SECOND }],
    ['the temperature', { temperature: 0.3 }, { kind: 'llm', path: SECOND }],
    [
      'a tool that was not called',
      { between: 'context.step("order", look)' },
      { kind: 'tool', name: 'order' },
    ],
  ]
  const tried = firstOfEach(changes, ([, , step]) => Object(step).kind)
  it.each(tried)(
    'names the first step that differs, and asks nobody: %s',
    async (_, change, step) => {
      await publish()
      const runId = await record()
      const version = await publish({ ...change })
      const before = stage.calls()
      const { runs, id: replayId } = await replay(version)
      expect(runs).toMatchObject([{ state: 'different', step }])
      expect(runs[0]?.reason).toMatch(
        /^(?:gpt-5|order) is asked .*\bat (?:second|project-\w+) [^.]*\.$/,
      )
      expect(stage.calls()).toBe(before)
      const found = await findReplayedRun(sql, { replayId, runId })
      expect(found?.request).toBeDefined()
      expect(found?.request).not.toEqual(found?.recordedRequest)
      if ('last' in change) {
        expect(JSON.stringify(found?.recordedRequest)).toContain('Shorten Answer')
        expect(JSON.stringify(found?.request)).toContain(' anew"')
      }
    },
  )

  it('says that a version depends on more than its inputs, with advice', async () => {
    const version = await publish({ last: 'str(datetime.datetime.now()) + str(random.random())' })
    await record()
    const { runs } = await replay(version)
    expect(runs).toMatchObject([
      {
        state: 'different',
        step: { kind: 'llm', path: SECOND },
        reason: expect.stringMatching(
          /second .* such as the time or a random number.* Let a tool say what changes/,
        ),
      },
    ])
  })

  it('opens no connection and starts no program, whatever code does between steps', async () => {
    await publish()
    await record()
    const before = stage.calls()
    const acts = ['look()', 'subprocess.run(["true"])', 'os.system("true")']
    for (const between of few(acts, 1)) {
      const { runs } = await replay(await publish({ between }))
      const reason = expect.stringMatching(/^It failed: .*A replay asks nobody/)
      expect(runs).toMatchObject([{ state: 'different', step: null, reason }])
    }
    expect(stage.calls()).toBe(before)
  })

  it.runIf(isLong)('has no token of a connection', async () => {
    const id = (await publish(), await record())
    const { runs } = await replay(await publish({ connects: true }), { kickoffIds: [id] })
    expect(runs).toMatchObject([{ state: 'equal' }])
  })

  it.runIf(isLong)(
    'is equal for a run that failed in the same way, and says what failed otherwise',
    async () => {
      const version = await publish({ end: '1 / 0' })
      await record('error')
      expect((await replay(version)).runs).toMatchObject([{ state: 'equal' }])
      const other = await publish({ end: '{}["x"]' })
      expect((await replay(other)).runs).toMatchObject([
        { state: 'different', reason: "It failed: KeyError: 'x'" },
      ])
    },
  )

  it('is equal for a run that continued another one', async () => {
    await publish({ between: '1 / 0' })
    const first = await platform.get(await record('error'))
    if (!first) throw new Error('no run')
    await writeFile(join(folder, 'variant.json'), '{}')
    const id = await startRetry(sql, { automation: platform.automation, run: first })
    await platform.until(id, 'completed')
    const [{ number }] = await sql<[{ number: number }]>`
      select number from project_versions v join deployments d on d.project_version_id = v.id
      where d.id = ${platform.automation.id}`
    expect((await replay(number, { kickoffIds: [id] })).runs).toMatchObject([{ state: 'equal' }])
  })

  it('cannot be made of a result without JSON, or of what was not recorded', async () => {
    const version = await publish()
    const id = await record()
    await sql`
      update run_steps set result = '{"unrecorded":"Page"}'
      where run_id = ${id} and name = 'look'`
    const reason = expect.stringMatching(/^What look answered at .* is no JSON/)
    expect((await replay(version)).runs).toMatchObject([{ state: 'impossible', reason }])
    await sql`update run_steps set request_sha256 = null where run_id = ${id}`
    const untold = expect.stringContaining('its crew does not tell them')
    expect((await replay(version)).runs).toMatchObject([{ state: 'impossible', reason: untold }])
  })
})

/** A run that has ended, of which no step is kept. */
async function insertRun(): Promise<string> {
  const [{ id }] = await sql<[{ id: string }]>`
    insert into executions (deployment_id, inputs, status, output, finished_at)
    values (${platform.automation.id}, '{}', 'completed', 'Once.', now()) returning id`
  return id
}

describe.skipIf(whyNot !== undefined)('a new replay of a crew from source', () => {
  it('is refused for what is not deployed, and for others', async () => {
    const old = await publish()
    const id = await insertRun()
    await publish()
    await expect(stage.begin(old)).rejects.toThrow(`No crew of version ${old} is there`)
    const rival = await seedAutomation(sql, { organization: 'Rival', slug: 'rival' })
    const all = { version: 1, last: 20, status: 'any', ofVersion: null, tokensMax: 0 } as const
    const chosen = { ...all, mode: 'offline', kickoffIds: [id], createdBy: 'test' } as const
    await expect(sql.begin((tx) => createReplay(tx, rival, chosen))).rejects.toThrow(
      `This automation has no run ${id}.`,
    )
  })

  it('says when its crew is replaced before it begins', async () => {
    const version = await publish()
    await insertRun()
    await platform.stopServices()
    const { id: replayId } = await stage.begin(version)
    await publish()
    await platform.startWorker()
    const states = () => sql`select state, reason from replay_runs where replay_id = ${replayId}`
    await expect
      .poll(states)
      .toMatchObject([{ state: 'impossible', reason: expect.stringContaining('not deployed any') }])
  })
})
