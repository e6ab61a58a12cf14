import type { ChildProcess } from 'node:child_process'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { whyNoPython } from '../../../python/adapter.ts'
import { workerEnv } from '../harness.ts'
import { canIsolate, openBridge, startAlone } from './isolate.ts'
import { CREWAI_PROJECT, hasCrewai, PYTHON } from './source-crewai.ts'
import { openSourceStage } from './source-stage.ts'

const RUNS = 20
const WHILE_MS = 1_800_000
/** Without CrewAI it is a function. */
const FUNCTION = {
  'pyproject.toml': '[tool.crew-runtime]\nentrypoint = "crew:run"\ninputs = ["topic"]\n',
  'crew.py': `
import os, urllib.request
def look():
    with urllib.request.urlopen(os.environ["TOOL_URL"]) as page:
        return page.read().decode()
def run(inputs, context):
    found = context.step("look", look)
    asked = [{"role": "user", "content": inputs["topic"] + found}]
    return context.model("gpt-5", asked).text
`,
}

const stage = await openSourceStage({
  answer: (question) => `Answer to ${question.length} characters`,
  ...(hasCrewai ? { python: PYTHON } : {}),
})
const { platform } = stage
const bridge = await openBridge(platform.url)
const children = new Set<ChildProcess>()

afterEach(() => {
  for (const child of children) child.kill('SIGKILL')
})
afterAll(async () => {
  bridge.close()
  await stage.stopServers()
})

async function recordAll() {
  const folder = await stage.deploySource(hasCrewai ? CREWAI_PROJECT : FUNCTION)
  const version = await stage.addVersion()
  await platform.startWorker()
  for (let run = 0; run < RUNS; run += 1) {
    const id = await platform.kickoff({ topic: `bees ${run}` })
    const read = async () => (await platform.get(id))?.status
    await expect.poll(read, { timeout: 120_000 }).toBe('completed')
  }
  await platform.stopServices()
  await stage.stopCrews()
  return { folder, version }
}

describe.skipIf(whyNoPython() !== undefined || !canIsolate)('runs of a crew from source', () => {
  it(
    'are all equal without a network, and want no other socket',
    async () => {
      const { folder, version } = await recordAll()
      const before = stage.calls()
      expect(before).toBeGreaterThan(RUNS)
      const told = {
        crew: {},
        source: stage.adapterOf(folder),
        worker: workerEnv(platform.url),
        deploymentId: platform.automation.id,
        bridge: bridge.path,
      }
      const alone = await startAlone(told, true)
      children.add(alone.child)
      const { runs } = await stage.replay(version, { last: RUNS }, WHILE_MS)
      const found = runs.map(({ state, reason }) => reason ?? state)
      expect(found).toEqual(Array.from({ length: RUNS }, () => 'equal'))
      expect(await alone.end()).toEqual({ addresses: {}, datagrams: 0, refused: 0 })
      expect(stage.calls()).toBe(before)
    },
    WHILE_MS,
  )
})
