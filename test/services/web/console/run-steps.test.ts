import { expect, it } from 'vitest'
import { foldItems } from '../../../../services/web/console/runs/fold-items.ts'
import { taskStates, toRunTimeline } from '../../../../services/web/console/runs/run-steps.ts'
import type { RunStep } from '../../../../services/web/console/runs/run-steps.ts'
import { stepList } from '../../../../services/web/console/runs/step-list.ts'
import type { ProgressEvent } from '../../../../services/platform/runs/run-queue.ts'
import type { Run } from '../../../../services/platform/runs/runs.ts'

const START = Date.parse('2026-11-22T12:00:00.000Z')
const at = (ms: number): string => new Date(START + ms).toISOString()

const run: Run = {
  id: '5d5f5bd6-4d2a-4d55-8f4c-4d6d2d6a6a3e',
  deploymentId: 1,
  status: 'completed',
  inputs: {},
  attempt: 1,
  queuedAt: new Date(START - 50),
  startedAt: new Date(START),
  finishedAt: new Date(START + 1000),
  output: 'done',
  usage: null,
  error: null,
  originId: null,
  originAction: null,
  trigger: null,
  starterName: null,
}

const call = (
  task: string,
  [from, to]: readonly [number, number],
  more: object = {},
): ProgressEvent => ({
  type: 'llm_call',
  task,
  request_model: 'm',
  started_at: at(from),
  ended_at: at(to),
  input_tokens: 10,
  output_tokens: 5,
  ...more,
})

const told = (events: readonly ProgressEvent[], attempt = 1) =>
  events.map((event, position) => ({
    attempt,
    position,
    event,
    recordedAt: new Date(START + position),
  }))

const drawn = (steps: readonly RunStep[]): string[] =>
  steps.map(({ depth, name, label, startMs, endMs }) => {
    const times = `${startMs - START}-${endMs === null ? '' : endMs - START}`
    return `${' '.repeat(depth)}${name} ${label ?? ''} ${times}`
  })

it('shows a call of a tool once, from its start to its end', () => {
  const { steps } = toRunTimeline(
    told([
      { type: 'task_started', at: at(1), task: 'find', agent: 'a' },
      { type: 'step_started', at: at(2), step: 'k1', kind: 'tool', name: 'search' },
      { type: 'tool_call', task: 'find', step: 'k1', name: 'search', tool: 'web', ...times(3, 40) },
      { type: 'task_completed', at: at(50), task: 'find' },
    ]),
    run,
    START,
  )
  expect(drawn(steps)).toEqual(['Task find 1-50', 'search web 2-40'])
  expect(steps.map(({ isCutOff }) => isCutOff)).toEqual([false, false])
})

const times = (from: number, to: number) => ({ started_at: at(from), ended_at: at(to) })

const EVENTS: readonly ProgressEvent[] = [
  { type: 'crew_started', at: at(1), crew: 'Research' },
  { type: 'task_started', at: at(2), task: 'find', agent: 'a' },
  { type: 'task_started', at: at(3), task: 'check', agent: 'b' },
  call('find', [10, 400]),
  call('check', [20, 300], { error: { code: 'rate_limited', message: 'later' } }),
  { type: 'task_completed', at: at(500), task: 'find', agent: 'a', output: '# Found' },
  { type: 'crew_completed', at: at(900), output: 'done' },
]

it('puts calls below their task, and makes one step of a start and its end', () => {
  const { steps, beginMs, endMs } = toRunTimeline(told(EVENTS), run, START + 5000)
  expect(drawn(steps)).toEqual([
    'Crew Research 1-900',
    ' Task find 2-500',
    '  LLM call m 10-400',
    ' Task check 3-1000',
    '  LLM call m 20-300',
  ])
  expect([beginMs - START, endMs - START]).toEqual([0, 1000])
  expect(steps.map(({ tokens }) => tokens)).toEqual([30, 15, 15, 15, 15])
  expect(steps.map(({ isError }) => isError)).toEqual([false, false, false, false, true])
  expect(steps.map(({ isCutOff }) => isCutOff)).toEqual([false, false, false, true, false])
  expect(steps[1]?.facts['output']).toBe('# Found')
})

it('puts calls below a task that is known by the key of its step', () => {
  const journaled: readonly ProgressEvent[] = [
    { type: 'crew_started', at: at(1), crew: 'Research' },
    { type: 'task_started', at: at(2), task: 'find', agent: 'a', step: 'k1' },
    call('find', [3, 10], { agent: 'a', step: 'k2' }),
    { type: 'step_started', at: at(11), step: 'k3', kind: 'tool', name: 'search', parent: 'k1' },
    { type: 'step_started', at: at(12), step: 'k4', kind: 'tool', name: 'search', parent: 'k1' },
    {
      type: 'tool_call',
      task: 'find',
      step: 'k3',
      name: 'search',
      tool: 'search',
      started_at: at(11),
      ended_at: at(20),
    },
    call('find', [21, 30], { agent: 'a', step: 'k5' }),
    { type: 'task_completed', at: at(31), task: 'find', step: 'k1', output: 'x' },
    { type: 'task_started', at: at(32), task: 'find', agent: 'a', step: 'k6' },
    call('find', [33, 40], { agent: 'a', step: 'k7' }),
  ]
  const { steps } = toRunTimeline(told(journaled), run, START)
  expect(drawn(steps)).toEqual([
    'Crew Research 1-1000',
    ' Task find 2-31',
    '  LLM call m 3-10',
    '  search  11-20',
    '  search  12-1000',
    '  LLM call m 21-30',
    ' Task find 32-1000',
    '  LLM call m 33-40',
  ])
})

it('puts what belongs to a call of a tool below it, which ends with what it answered', () => {
  const began = { type: 'step_started', kind: 'tool', parent: 'k0' }
  const error = { code: 'llm_rejected', message: 'No.' }
  const failed = { type: 'step_failed', kind: 'tool', error }
  const made = { type: 'tool_call', task: 'lead', parent: 'k0' }
  const events: readonly ProgressEvent[] = [
    { type: 'crew_started', at: at(1), crew: 'Research' },
    { type: 'task_started', at: at(2), task: 'lead', agent: 'boss', step: 'k0' },
    call('lead', [3, 10], { step: 'k1', parent: 'k0' }),
    { ...began, step: 'k2', name: 'delegate', at: at(11) },
    { ...began, step: 'k3', name: 'ask', at: at(12) },
    call('lead', [13, 30], { step: 'k4', parent: 'k2' }),
    { ...made, step: 'k2', name: 'delegate', result: 'x', started_at: at(11), ended_at: at(40) },
    { ...failed, step: 'k3', name: 'ask', started_at: at(12), ended_at: at(50) },
    call('lead', [60, 70]),
    { type: 'task_completed', at: at(80), task: 'lead', agent: 'boss', step: 'k0', output: 'x' },
    { type: 'crew_completed', at: at(900), output: 'done' },
  ]
  const { steps } = toRunTimeline(told(events), run, START + 5000)
  expect(drawn(steps)).toEqual([
    'Crew Research 1-900',
    ' Task lead 2-80',
    '  LLM call m 3-10',
    '  delegate lead 11-40',
    '   LLM call m 13-30',
    '  ask  12-50',
    '  LLM call m 60-70',
  ])
  expect(steps.map(({ tokens }) => tokens)).toEqual([45, 45, 15, 15, 15, null, 15])
  expect(steps.filter(({ isError }) => isError).map(({ name }) => name)).toEqual(['ask'])
})

it('ends the crew with the error of the run, which is told by the step that raised it', () => {
  const error = { code: 'llm_rejected', message: 'No.' }
  const events: readonly ProgressEvent[] = [
    { type: 'crew_started', at: at(1), crew: 'Research' },
    { type: 'task_started', at: at(2), task: 'find', agent: 'a' },
    call('find', [3, 10], { error }),
    { type: 'failed', at: at(12), error },
  ]
  const { steps } = toRunTimeline(told(events), run, START + 5000)
  expect(drawn(steps)).toEqual(['Crew Research 1-12', ' Task find 2-1000', '  LLM call m 3-10'])
  expect(steps.map(({ isError }) => isError)).toEqual([true, false, true])
  expect(steps.map(({ facts }) => facts['error'])).toEqual([undefined, undefined, error])
})

it('shows what a tool answered, and not the place of its step in the version', async () => {
  const place = { step: 'k1', kind: 'tool', name: 'search', path: ['find', 'a', 'search', '0.1'] }
  const answered = { ...times(3, 40), step: 'k1', name: 'search', result: '[]', attempts: 1 }
  const events: readonly ProgressEvent[] = [
    { type: 'step_started', at: at(2), ...place },
    { type: 'tool_call', task: 'find', ...answered },
  ]
  const shown = String(await stepList(toRunTimeline(told(events), run, START), '/run'))
  const results = [...shown.matchAll(/<h4>(.*?)<\/h4>/g)].map(([, name]) => name)
  expect(results).toEqual(['Result'])
  expect(shown).not.toContain('0.1')
  expect(shown).toMatch(/<span>0<\/span>/)
})

it('leaves open what goes on, and gives each attempt a step of its own', () => {
  const attempts = [...told(EVENTS.slice(0, 3), 1), ...told(EVENTS.slice(0, 2), 2)]
  const going = { ...run, status: 'running', finishedAt: null } as const
  const { steps } = toRunTimeline(attempts, going, START + 700)
  expect(drawn(steps)).toEqual([
    'Attempt 1  1-3',
    ' Crew Research 1-3',
    '  Task find 2-3',
    '  Task check 3-3',
    'Attempt 2  1-',
    ' Crew Research 1-',
    '  Task find 2-',
  ])
})

it('shows events that it does not know, by what they say of time and step', () => {
  const unknown: readonly ProgressEvent[] = [
    { type: 'step_started', step: 'k1', kind: 'tool', name: 'search', at: at(5) },
    { type: 'something_else', at: at(6), note: 'x' },
    { type: 'step_finished', step: 'k1', at: at(9), result: '{}' },
    { type: 'odd' },
    { type: 'tool_call', started_at: at(30), ended_at: at(20), tool: 'late' },
  ]
  const { steps } = toRunTimeline(told(unknown), run, START)
  expect(drawn(steps)).toEqual([
    'search  5-9',
    'Something else  6-6',
    'Odd  3-3',
    'Tool call late 30-30',
  ])
  expect(steps.map(({ kind }) => kind)).toEqual(['tool', 'span', 'span', 'tool'])
})

it('has an axis when there are no steps', () => {
  const waiting = { ...run, startedAt: null, finishedAt: null }
  expect(toRunTimeline([], waiting, START)).toEqual({ steps: [], beginMs: START, endMs: START })
})

it('shows the newest items of a list that are done, all others, and the rest as one row', () => {
  const item = (index: number, end: string): ProgressEvent[] => {
    const step = { step: `i${index}`, kind: 'task', name: `find[${index}]`, parent: 'k1' }
    const path = ['find', `item:${index}`]
    const error = { code: 'llm_timeout', message: 'Late.' }
    return [
      { type: 'step_started', at: at(index), path, ...step },
      call('find', [index, index + 1], { parent: `i${index}` }),
      ...(end === ''
        ? []
        : [
            {
              type: end,
              ...step,
              ...times(index, index + 2),
              ...(end === 'step_failed' && { error }),
            },
          ]),
    ]
  }
  const events: ProgressEvent[] = [
    { type: 'task_started', at: at(0), task: 'find', agent: 'a', step: 'k1' },
    ...item(0, 'step_failed'),
    ...Array.from({ length: 30 }, (_, index) => item(index + 1, 'step_finished')).flat(),
    ...item(31, ''),
  ]
  const timeline = toRunTimeline(told(events), { ...run, finishedAt: null }, START)
  const steps = foldItems(timeline.steps)
  const lines = drawn(steps)
  expect(lines.slice(0, 6)).toEqual([
    'Task find 0-',
    ' find[0]  0-2',
    '  LLM call m 0-1',
    ' 10 items done 1-12',
    ' find[11]  11-13',
    '  LLM call m 11-12',
  ])
  expect(lines.at(-2)).toBe(' find[31]  31-')
  expect(lines).toHaveLength(1 + 2 + 1 + 2 * 20 + 2)
  expect(steps[3]?.tokens).toBe(150)
})

it('says of a skipped task why', async () => {
  const task = { task: 'find', agent: 'a' }
  const skipped = 'The condition @.inputs.x does not hold.'
  const events = [
    { type: 'task_started', at: at(1), ...task },
    { type: 'task_completed', at: at(1), ...task, output: '', skipped },
  ]
  const page = String(await stepList(toRunTimeline(told(events), run, START), '/run'))
  expect(page).toContain('>Skipped<')
  expect(page).toContain(skipped)
  expect([...taskStates(told(events), run, undefined)]).toEqual([['find', 'skipped']])
})
