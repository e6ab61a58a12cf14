import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { findReplayedRun } from '../../../../services/platform/replays/replay-results.ts'
import { decideApproval } from '../../../../services/platform/runs/run-approvals.ts'
import { LETTERS } from '../../../python/projects.ts'
import { CREWAI_PROJECT, hasCrewai, PYTHON } from './source-crewai.ts'
import { openSourceStage } from './source-stage.ts'

const TEXTS: readonly (readonly [question: string, answer: string])[] = [
  ['Write the report on', '{"title": "On bees", "points": 3}'],
  ['Do it better', 'This is better'],
  ['Name the colours', 'Black and yellow'],
  ['Name the sounds', 'A hum'],
]
const answer = (question: string): string =>
  TEXTS.find(([text]) => question.includes(text))?.[1] ?? 'Words of the model'
const delegated = { task: 'Find.', context: 'For a report.', coworker: 'Writer' }
/** What the model lets the tool look up. */
let looked = 'bees'
const ask = (tool: string): object => (tool.startsWith('delegate') ? delegated : { text: looked })

const stage = await openSourceStage({ answer, ask, python: PYTHON })
const { platform, sql, addVersion, replay } = stage
const WHILE_MS = 300_000
let folder: string

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
async function publish(variant: object = {}): Promise<number> {
  await writeFile(join(folder, 'variant.json'), JSON.stringify(variant))
  return addVersion()
}

async function until(id: string, status: string): Promise<void> {
  const read = async () => (await platform.get(id))?.status
  await expect.poll(read, { timeout: 60_000 }).toBe(status)
}

async function record(decision?: Decision): Promise<string> {
  const id = await platform.kickoff({ topic: 'bees' })
  if (decision) {
    await until(id, 'waiting')
    const about = { deploymentId: platform.automation.id, runId: id, task: 'write' }
    await decideApproval(sql, { ...about, decision, text: 'Words of a person' })
  }
  await until(id, decision === 'reject' ? 'error' : 'completed')
  return id
}

/** What was found of the only run of a replay, with both requests where they differ. */
async function replayOne(version: number, fields: Parameters<typeof replay>[1] = {}) {
  const { runs, id } = await replay(version, fields, WHILE_MS)
  const found = await findReplayedRun(sql, { replayId: id, runId: runs[0]?.runId ?? '' })
  return { run: runs[0], found, shown: JSON.stringify([runs, found, stage.logs()], null, 1) }
}

type Decision = 'approve' | 'edit' | 'reject'

const VARIANTS: [string, object, Decision | undefined][] = [
  ['a tool and two tasks', {}, undefined],
  ['a tool that fails once', { fails: true }, undefined],
  ['a guardrail with a repair', { guarded: true }, undefined],
  ['a manager that delegates', { process: 'hierarchical' }, undefined],
  ['a person who approves', { asks: true }, 'approve'],
  ['a person who edits', { asks: true }, 'edit'],
  ['a person who rejects', { asks: true }, 'reject'],
]

describe.skipIf(!hasCrewai)('a replay of a crew of CrewAI', { timeout: WHILE_MS }, () => {
  beforeAll(async () => {
    folder = await stage.deploySource(CREWAI_PROJECT)
  })

  it.each(VARIANTS)('is equal, and asks nobody: %s', async (_, variant, decision) => {
    const version = await publish(variant)
    await record(decision)
    const before = stage.calls()
    const { run, shown } = await replayOne(version)
    expect([run?.state, run?.reason], shown).toEqual(['equal', null])
    expect(stage.calls()).toBe(before)
    expect(stage.logs()).not.toContain('is refused: this is a replay')
  })

  it.each<[string, object, string]>([
    ['a word in a prompt', { last: '" anew"' }, 'write'],
    ['the temperature', { temperature: 0.2 }, 'find'],
    ['the schema of a tool', { schema: 'What to find' }, 'find'],
    ['the order of tools', { reversed: true }, 'find'],
  ])('names the first step that differs: %s', async (_, variant, task) => {
    await publish()
    await record()
    const version = await publish(variant)
    const before = stage.calls()
    const { run, found, shown } = await replayOne(version)
    expect(run, shown).toMatchObject({ state: 'different', step: { kind: 'llm' } })
    expect(run?.step?.path[0]).toBe(task)
    expect(found?.request).not.toEqual(found?.recordedRequest)
    expect(Object(found?.recordedRequest).messages).toBeDefined()
    expect(stage.calls()).toBe(before)
  })

  it.each<[string, object, [count: number, end: string]]>([
    ['a model with a tool', { temperature: 0.2 }, [2, 'The output is the same.']],
    ['a model whose address has a name', { last: '" anew"' }, [1, 'The output is the same.']],
    [
      'a tool that the record does not answer',
      { temperature: 0.2, asked: 'wasps' },
      [1, 'was not called'],
    ],
  ])('asks models alone in a live one: %s', async (_, variant, [count, end]) => {
    await publish()
    await record()
    const version = await publish(variant)
    const [before, models] = [stage.calls(), stage.model.asked.length]
    looked = 'asked' in variant ? 'wasps' : 'bees'
    const { run, shown } = await replayOne(version, { mode: 'live', tokensMax: 100_000 })
    looked = 'bees'
    expect(run?.reason, shown).toContain(end)
    expect(run, shown).toMatchObject({ state: 'different', askedTokens: 15 * count })
    expect(stage.model.asked.length - models).toBe(count)
    expect(stage.calls() - before).toBe(count)
    expect(stage.model.strangers).toEqual([])
  })

  it('says that a crew depends on the time, with advice', async () => {
    const version = await publish({ last: 'datetime.datetime.now()' })
    await record()
    const { run, shown } = await replayOne(version)
    expect(run, shown).toMatchObject({ state: 'different', step: { kind: 'llm' } })
    expect(run?.reason).toMatch(/ at write .*such as the time or a random number.*Let a tool say/)
  })
})

describe.skipIf(!hasCrewai)('a replay of a crew of CrewAI with YAML', { timeout: WHILE_MS }, () => {
  it('is equal: tasks beside each other, models of two providers, a class', async () => {
    await stage.deploySource(LETTERS)
    const version = await addVersion()
    await record()
    const before = stage.calls()
    const { run, shown } = await replayOne(version)
    expect([run?.state, run?.reason], shown).toEqual(['equal', null])
    expect(stage.calls()).toBe(before)
  })
})
