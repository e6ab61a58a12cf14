import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createModelPrice } from '../../../../services/platform/budgets/model-prices.ts'
import { findReplayedRun } from '../../../../services/platform/replays/replay-results.ts'
import { few, isLong } from '../../../support/long.ts'
import { whyNoPython } from '../../../python/adapter.ts'
import { MODEL_KEY } from '../../../python/scripted-model.ts'
import { openSourceStage } from './source-stage.ts'

const whyNot = whyNoPython()

const stage = await openSourceStage({ answer: (question) => `Answer to: ${question}` })
const { platform, sql, addVersion, replay } = stage

/** A tool, and two models, of which one has a name for its address. */
const PROJECT = {
  'variant.json': '{}',
  'pyproject.toml': '[tool.crew-runtime]\nentrypoint = "crew:run"\ninputs = ["topic"]\n',
  'crew.py': `
import json, os, subprocess, threading, urllib.request
import crew_runtime.context

def fetch(url):
    with urllib.request.urlopen(url) as page:
        return page.read().decode()

def look():
    return fetch(os.environ["TOOL_URL"])

met = []
def told(act):
    try:
        met.append(f"{act()}")
    except OSError as error:
        met.append("refused" if "A replay asks nobody" in str(error) else f"{error!r}")

complete = crew_runtime.context.complete
def tempted(endpoint, request):
    told(look)
    told(lambda: fetch("http://localhost:1/"))
    told(lambda: subprocess.run(["true"]))
    return complete(endpoint, request)

def run(inputs, context):
    variant = json.load(open("variant.json"))
    if variant.get("tempted"):
        crew_runtime.context.complete = tempted
    ask = lambda name, text: context.model(name, [{"role": "user", "content": text}]).text
    found = context.step("look", look)
    first = ask("gpt-5", "Sum up " + inputs["topic"] + found + variant.get("word", ""))
    eval(variant.get("between", "''"), globals(), {"context": context, "ask": ask})
    second = ask("claude-sonnet-4-5", "Shorten " + first + context.step("look", look))
    return second + "".join(met)
`,
}

const LIVE = { mode: 'live', tokensMax: 100_000 } as const
let folder: string
let runId: string

/** Makes a version with changes; returns its number. */
async function publish(variant: Readonly<Record<string, unknown>> = {}): Promise<number> {
  await writeFile(join(folder, 'variant.json'), JSON.stringify(variant))
  return addVersion()
}

/** Performs a run again, and says how often models and the server of the tool were asked. */
async function replayWith(variant: Readonly<Record<string, unknown>>, fields: object = LIVE) {
  const version = await publish(variant)
  const [models, before] = [stage.model.asked.length, stage.calls()]
  const { runs, id, summary } = await replay(version, { kickoffIds: [runId], ...fields })
  const asked = stage.model.asked.length - models
  const tools = stage.calls() - before - asked
  const found = await findReplayedRun(sql, { replayId: id, runId })
  return { run: runs[0], summary, found, asked, tools }
}

beforeAll(async () => {
  if (whyNot === undefined) folder = await stage.deploySource(PROJECT)
})
beforeEach(async () => {
  await sql`delete from replays`
  await platform.startWorker()
  if (whyNot !== undefined) return
  await publish()
  runId = await platform.kickoff({ topic: 'whales' })
  await platform.until(runId, 'completed')
})
afterEach(() => sql`delete from budgets`)
afterAll(async () => {
  await stage.stopCrews()
  await stage.stopServers()
})

describe.skipIf(whyNot !== undefined)('a live replay of a crew from source', () => {
  it('asks no one while each request is in the record', async () => {
    const { run, asked, tools } = await replayWith({})
    expect(run).toMatchObject({ state: 'equal', askedTokens: null, usd: null })
    expect([asked, tools]).toEqual([0, 0])
  })

  it('asks models from the first request that differs, and tools from the record', async () => {
    const { run, summary, found, asked, tools } = await replayWith({ word: ' anew' })
    expect(run).toMatchObject({
      state: 'different',
      step: { kind: 'llm', name: 'gpt-5' },
      reason: expect.stringMatching(/^gpt-5 is asked something else .* The outputs differ\.$/),
      askedTokens: 30,
      usage: { input_tokens: 20, output_tokens: 10 },
    })
    expect(found?.output).toMatch(/^Answer to: Shorten Answer to: Sum up whales.* anew/)
    expect(summary).toMatchObject({ askedTokens: 30, different: 1 })
    expect([asked, tools]).toEqual([2, 0])
    expect(stage.model.strangers).toEqual([])
    expect(stage.logs()).not.toContain(MODEL_KEY)
  })

  it('reaches nothing else while a model is asked', async () => {
    const { found, asked, tools } = await replayWith({ word: ' anew', tempted: true })
    expect(found?.output).toMatch(/(?:refused){6}$/)
    expect([asked, tools]).toEqual([2, 0])
  })

  it('reaches no model but by a step: code between them is refused', async () => {
    const { base_url: url } = stage.model.endpoint
    const named = url.replace('127.0.0.1', 'localhost')
    for (const each of few([named, url], 1)) {
      const between = `fetch(${JSON.stringify(each)})`
      const { run, asked, tools } = await replayWith({ word: ' anew', between })
      expect(run?.reason).toMatch(/ It failed then: .*A replay asks nobody/)
      expect([asked, tools]).toEqual([1, 0])
    }
  })

  it('ends at a tool without an answer, and at a model without a connection', async () => {
    const between = few(['context.step("order", look)', 'ask("other", "x")'], 1)
    for (const each of between) {
      const { run, asked, tools } = await replayWith({ word: ' anew', between: each })
      expect(run?.state).toBe('different')
      expect(run?.reason).toMatch(
        / Then (?:order|other) is asked .*: it was not called, and the run ended\.$/,
      )
      expect([asked, tools]).toEqual([1, 0])
    }
  })

  it('asks nothing that its tokens or a budget have no room for', async () => {
    const small = await replayWith({ word: ' anew' }, { ...LIVE, tokensMax: 100 })
    expect(small.run?.reason).toMatch(/ The run ended there: the models of this replay may take/)
    expect([small.asked, small.summary?.askedTokens]).toEqual([0, 0])
    const prices = { begins: null, ends: null, perMillion: { input: 1000, output: 10_000 } }
    const fields = { name: 'Both', models: ['gpt-5', 'claude-sonnet-4-5'], ...prices }
    await createModelPrice(sql, platform.automation.organizationId, fields)
    await sql`
      insert into budgets (organization_id, period, usd_max, unpriced)
      select organization_id, 'day', 1, 'refuse' from deployments limit 1`
    const unpriced = await replayWith({ word: ' else', between: 'ask("house-model", "x")' })
    expect(unpriced.run?.reason).toMatch(/ The run ended there: a budget .* has no price/)
    expect(unpriced.asked).toBe(1)
    expect(unpriced.run).toMatchObject({ askedTokens: 15, usd: expect.closeTo(0.06) })
    await sql`update budgets set usd_max = 0.01`
    const spent = await replayWith({ word: ' again' })
    expect(spent.run?.reason).toMatch(/ The run ended there: a budget is used up/)
    expect(spent.asked).toBe(0)
  })

  it.runIf(isLong)('adds no run, no event and no step', async () => {
    const count = () => sql`
      select (select count(*) from executions) as runs, (select count(*) from run_steps) as steps,
        (select count(*) from execution_events) as events`
    const before = await count()
    await replayWith({ word: ' anew' })
    expect(await count()).toEqual(before)
  })
})
