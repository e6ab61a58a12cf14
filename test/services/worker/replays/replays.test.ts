import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { findReplayedRun } from '../../../../services/platform/replays/replay-results.ts'
import { definition } from '../../../support/crew.ts'
import { asks, says } from '../../crew/fake-model.ts'
import { openKinds } from './kinds.ts'
import { agentsWith } from './stage.ts'

const stage = await openKinds()
const { platform, publishVersion, replay, sql, docsOf, travel, record, kinds, calls } = stage
const docs = docsOf('look', 'seek')
const [research, write] = definition.tasks

beforeEach(async () => {
  await stage.startAll()
  stage.server.calls.length = 0
})

afterAll(() => stage.stopServers())

describe('a replay of the same version', () => {
  it.each(Object.entries(kinds))('is equal, and asks nobody: %s', async (_, kind) => {
    const version = await publishVersion(kind.change)
    const id = await record(kind)
    const before = calls()
    const { runs, summary } = await replay(version)
    expect(runs).toMatchObject([{ runId: id, state: 'equal', reason: null, version }])
    expect(summary).toMatchObject({ runs: 1, equal: 1, different: 0, impossible: 0, waiting: 0 })
    expect(calls()).toBe(before)
    const run = await platform.get(id)
    if (run?.usage) {
      const { input_tokens: inputTokens, output_tokens: outputTokens } = runs[0]?.usage ?? {}
      expect({ inputTokens, outputTokens }).toEqual(run.usage)
    }
    const found = await findReplayedRun(sql, { replayId: summary?.id ?? '', runId: id })
    expect(found?.output).toBe(run?.output)
  })
})

describe('a run that a server has asked something', () => {
  it('went on where it was: the call was made again with the answer and the state', async () => {
    await publishVersion(stage.asked.change)
    travel.calls.length = 0
    const id = await record(stage.asked)
    expect(travel.calls).toMatchObject([
      { responses: undefined },
      {
        responses: { sure: { action: 'accept', content: { ok: true } } },
        requestState: 'state-1',
      },
    ])
    const events = await platform.events(id)
    expect(JSON.stringify(events)).not.toContain('state-1')
    const begun = events.flatMap(({ type, kind }) => (type === 'step_started' ? [kind] : []))
    expect(begun).toEqual(['tool', 'approval', 'tool'])
  })
})

describe('a replay of another version', () => {
  const properties = { q: { type: 'string' }, n: { type: 'integer' } }
  const retyped = docs.pinned.tools.map((each) => ({
    ...each,
    input_schema: { type: 'object', properties },
  }))
  const sum = { type: 'calculator' }
  const base = { tools: { docs, sum }, agents: agentsWith(['docs', 'sum']) }
  const answers = [says('Facts.'), asks(['look', { q: 'a' }]), says('A summary.')]
  const WRITE = ['write', 'writer', 'llm', '0']

  it.each<[string, object, readonly string[]]>([
    [
      'a word in a prompt',
      { tasks: [research, { ...write, description: 'Write an abstract of {topic}.' }] },
      WRITE,
    ],
    ['the order of tools', { tools: { docs: docsOf('seek', 'look'), sum } }, RESEARCH()],
    ['the temperature', { llm: { model: 'test-model', temperature: 0.3 } }, RESEARCH()],
    [
      'the schema of a tool',
      { tools: { docs: { ...docs, pinned: { tools: retyped } }, sum } },
      RESEARCH(),
    ],
    ['the model of one agent', { agents: withModel() }, WRITE],
    ['a task that is left out', { tasks: [{ ...write }] }, WRITE],
    ['a task more', { tasks: [research, write, { ...write, key: 'more' }] }, MORE()],
  ])('names the first step that differs: %s', async (_, change, path) => {
    await publishVersion(base)
    const id = await record({ answers })
    const version = await publishVersion({ ...base, ...change })
    const before = calls()
    const { id: replayId, runs } = await replay(version, { kickoffIds: [id] })
    expect(runs).toMatchObject([{ state: 'different', step: { kind: 'llm', path } }])
    expect(calls()).toBe(before)
    const found = await findReplayedRun(sql, { replayId, runId: id })
    expect(found?.request).toMatchObject({ messages: expect.anything() })
    expect(found?.request).not.toEqual(found?.recordedRequest)
  })

  it('tells what is not asked any more, and another output of the same answers', async () => {
    await publishVersion({ tasks: [research, { ...write, context: [] }] })
    const id = await record({ answers: [says('Facts.'), says('A summary.')] })
    const fewer = await publishVersion({ tasks: [{ ...write, context: [] }] })
    const { runs } = await replay(fewer, { kickoffIds: [id] })
    expect(runs).toMatchObject([
      {
        state: 'different',
        reason: 'test-model is not asked any more at research / researcher / llm / 0.',
        step: { kind: 'llm', path: RESEARCH() },
      },
    ])
  })
})

function RESEARCH(): string[] {
  return ['research', 'researcher', 'llm', '0']
}

function MORE(): string[] {
  return ['more', 'writer', 'llm', '0']
}

function withModel() {
  const [first, second] = agentsWith(['docs', 'sum'])
  return [first, { ...second, llm: { model: 'another' } }]
}
