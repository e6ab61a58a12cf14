import { spawnSync } from 'node:child_process'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { findReplayedRun } from '../../../../services/platform/replays/replay-results.ts'
import { LETTERS } from '../../../python/projects.ts'
import { openSourceStage } from './source-stage.ts'

const PYTHON = join(homedir(), '.cache/crew-platform/crewai/bin/python')
const hasCrewai = spawnSync(PYTHON, ['-c', 'import crewai'], { timeout: 120_000 }).status === 0
if (!hasCrewai) {
  console.log(`crews of CrewAI are not replayed: there is no CrewAI for ${PYTHON} to import`)
}

const TEXTS: readonly (readonly [question: string, answer: string])[] = [
  ['Write the report on', '{"title": "On bees", "points": 3}'],
  ['Name the colours', 'Black and yellow'],
  ['Name the sounds', 'A hum'],
]
const answer = (question: string): string =>
  TEXTS.find(([text]) => question.includes(text))?.[1] ?? 'Words of the model'

const stage = await openSourceStage(answer, PYTHON)
const { platform, sql, deploySource, addVersion, replay } = stage
const WHILE_MS = 300_000

beforeEach(() => sql`delete from replays`)
afterEach(() => sql`delete from executions`)
afterAll(() => stage.stopSources())

async function record(): Promise<string> {
  const id = await platform.kickoff({ topic: 'bees' })
  await expect
    .poll(async () => (await platform.get(id))?.status, { timeout: 60_000 })
    .toBe('completed')
  return id
}

describe.skipIf(!hasCrewai)('a replay of a crew of CrewAI', () => {
  it(
    'is equal with the same version, and asks nobody: tools, tasks beside each other, a class',
    async () => {
      await deploySource(LETTERS)
      const version = await addVersion()
      await platform.startWorker()
      await record()
      const before = stage.calls()
      const { runs, id } = await replay(version, {}, WHILE_MS)
      const found = await findReplayedRun(sql, { replayId: id, runId: runs[0]?.runId ?? '' })
      expect(
        runs.map(({ state, reason }) => [state, reason]),
        JSON.stringify([found?.recordedRequest, found?.request], null, 1) + stage.logs(),
      ).toEqual([['equal', null]])
      expect(stage.calls()).toBe(before)
    },
    WHILE_MS,
  )
})
