import { inputRequired } from '@modelcontextprotocol/server'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { findReplayedRun } from '../../../../services/platform/replays/replay-results.ts'
import { decideApproval, findApproval } from '../../../../services/platform/runs/run-approvals.ts'
import { definition } from '../../../support/crew.ts'
import { asks, refuses, says } from '../../crew/fake-model.ts'
import type { Answer } from '../../crew/fake-model.ts'
import { startMcpServer2026 } from '../../../support/mcp-server-2026.ts'
import { agentsWith, openReplayStage } from './stage.ts'

const BOOK = { name: 'book', inputSchema: { type: 'object' as const, properties: {} } }
const requestedSchema = {
  type: 'object' as const,
  properties: { ok: { type: 'boolean' as const } },
}
const sure = inputRequired.elicit({ message: 'Sure?', requestedSchema })
/** Asks a person in the middle of each call. */
const travel = await startMcpServer2026([BOOK], {
  answer: ({ responses }) =>
    responses
      ? { content: [{ type: 'text', text: 'Booked.' }] }
      : inputRequired({ inputRequests: { sure }, requestState: 'state-1' }),
})
const stage = await openReplayStage([travel.origin])
const { platform, model, publishVersion, replay, sql, docsOf } = stage
const docs = docsOf('look', 'seek')

beforeEach(async () => {
  await stage.startAll()
  stage.server.calls.length = 0
})

afterAll(async () => {
  await stage.server.stop()
  await travel.stop()
})

/** Answers by what is asked, so that no order of calls matters. */
const echoes: Answer = (response, request) =>
  says(`Of: ${request.body.messages.at(-1)?.content.slice(0, 60)}`)(response, request)

const [research, write] = definition.tasks
const delegates = asks([
  'delegate_work_to_coworker',
  { task: 'Find.', context: 'For a report.', coworker: 'Writer' },
])
const guarded = [
  { ...research, guardrails: [{ type: 'schema', schema: { type: 'object' } }] },
  write,
]
const approved = [{ ...research, human_input: true }, write]

interface Kind {
  readonly change?: object
  readonly answers: readonly Answer[]
  readonly decide?: 'approve' | 'edit' | 'reject'
  readonly text?: string
  readonly ends?: 'error'
}

const ASKED: Kind = {
  change: {
    tools: {
      travel: {
        type: 'mcp',
        url: travel.url,
        tools: ['book'],
        pinned: { tools: [{ name: 'book', input_schema: BOOK.inputSchema }] },
      },
    },
    agents: agentsWith(['travel']),
  },
  answers: [asks(['book', {}]), says('Facts.'), says('A summary.')],
  decide: 'edit',
  text: '{"sure":{"ok":true}}',
}

const KINDS: Readonly<Record<string, Kind>> = {
  'tasks in sequence': { answers: [says('Facts.'), says('A summary.')] },
  'tasks beside each other': {
    change: {
      tasks: [
        { ...research, async: true },
        { ...research, key: 'more', description: 'List more of {topic}.', async: true },
        { ...write, context: ['research', 'more'] },
      ],
    },
    answers: [echoes],
  },
  'a manager that delegates': {
    change: { process: 'hierarchical', manager_llm: { model: 'bosses' } },
    answers: [delegates, says('Found by a writer.'), says('Facts.'), says('A summary.')],
  },
  'tools, wrong calls and several at a time': {
    change: { tools: { docs, now: { type: 'time' } }, agents: agentsWith(['docs', 'now']) },
    answers: [
      asks(['look', { q: 'a' }], ['look', { q: 'b' }], ['now', {}]),
      asks(['nothing', {}]),
      says('Facts.'),
      asks(['look', { q: 'a' }]),
      says('A summary.'),
    ],
  },
  'a guardrail with a repair': {
    change: { tasks: guarded },
    answers: [says('Bad.'), says('{"a":1}'), says('A summary.')],
  },
  'an approval': {
    change: { tasks: approved },
    answers: [says('Facts.'), says('A summary.')],
    decide: 'approve',
  },
  'an approval that edits': {
    change: { tasks: approved },
    answers: [says('Facts.'), says('A summary.')],
    decide: 'edit',
  },
  'an approval that rejects': {
    change: { tasks: approved },
    answers: [says('Facts.')],
    decide: 'reject',
    ends: 'error',
  },
  'a question of a server in the middle of a call': ASKED,
  'a model that refuses': { answers: [says('Facts.'), refuses(400, 'no')], ends: 'error' },
}

/** Performs a run, and returns its id once it is over. */
async function record({ answers, decide, text, ends }: Kind): Promise<string> {
  model.play(...answers)
  const id = await platform.kickoff()
  if (decide) {
    await platform.until(id, 'waiting')
    const call = (await findApproval(sql, id))?.call?.id
    const about = { deploymentId: platform.automation.id, runId: id, task: 'research', call }
    await decideApproval(sql, { ...about, decision: decide, text: text ?? 'Said by a person.' })
  }
  await platform.until(id, ends ?? 'completed')
  return id
}

const asked = (): number =>
  model.requests.length + stage.server.calls.length + travel.methods.length

describe('a replay of the same version', () => {
  it.each(Object.entries(KINDS))('is equal, and asks nobody: %s', async (_, kind) => {
    const version = await publishVersion(kind.change)
    const id = await record(kind)
    const before = asked()
    const { runs, summary } = await replay(version)
    expect(runs).toMatchObject([{ runId: id, state: 'equal', reason: null, version }])
    expect(summary).toMatchObject({ runs: 1, equal: 1, different: 0, impossible: 0, waiting: 0 })
    expect(asked()).toBe(before)
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
    await publishVersion(ASKED.change)
    travel.calls.length = 0
    const id = await record(ASKED)
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
    const before = asked()
    const { id: replayId, runs } = await replay(version, { kickoffIds: [id] })
    expect(runs).toMatchObject([{ state: 'different', step: { kind: 'llm', path } }])
    expect(asked()).toBe(before)
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
