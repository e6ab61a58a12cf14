import { describe, expect, it } from 'vitest'
import type { CrewDefinition } from '../../../../services/platform/definitions/crew-definition.ts'
import { stepsToKeep } from '../../../../services/platform/runs/kept-steps.ts'
import type { ListedStep } from '../../../../services/platform/runs/run-steps.ts'

type Task = CrewDefinition['tasks'][number]

const task = (key: string, change: Partial<Task> = {}): Task => ({
  key,
  description: key,
  expected_output: 'x',
  agent: 'a',
  ...change,
})

/**
 * A step by its path, with the seconds from its start to its end; it is a part of the longest of
 * the paths before it with which its own begins.
 */
type Line = readonly [path: string, from: number, to: number | null, change?: Partial<ListedStep>]

function stepsOf(lines: readonly Line[]): ListedStep[] {
  const paths = lines.map(([path]) => path)
  return lines.map(([path, from, to, change]) => ({
    key: path,
    kind: path.includes('/') ? (path.includes('llm') ? 'llm' : 'tool') : 'task',
    name: path.split('/')[0] ?? '',
    path: path.split('/'),
    parent:
      paths
        .filter((each) => path.startsWith(`${each}/`))
        .toSorted((a, b) => b.length - a.length)[0] ?? null,
    state: to === null ? 'started' : 'finished',
    attempt: 1,
    startedAt: new Date(from * 1000),
    endedAt: to === null ? null : new Date(to * 1000),
    usage: null,
    error: null,
    ...change,
  }))
}

const kept = (tasks: readonly Task[], lines: readonly Line[], from?: string): string[] =>
  stepsToKeep({ tasks: [...tasks], steps: stepsOf(lines) }, from).map(({ key }) => key)

describe('what a run keeps that goes on from a step', () => {
  const beside = [
    task('first'),
    task('facts', { async: true, context: ['first'] }),
    task('prices', { async: true, context: ['first'] }),
    task('report'),
    task('extra', { async: true }),
  ]
  const performed: Line[] = [
    ['first', 0, 2],
    ['first/llm', 0, 2],
    ['facts', 2, 4],
    ['facts/llm', 2, 4],
    ['prices', 2, 9],
    ['prices/llm', 2, 6],
    ['prices/llm2', 6, 9],
    ['report', 9, 12],
    ['report/llm', 9, 12],
    ['extra', 9, 11],
  ]

  it('has the decision about a call only with the end of that call', () => {
    const decision = { kind: 'approval', name: 'sum' } as const
    const sum = { name: 'sum' } as const
    const lines: Line[] = [
      ['first', 0, null],
      ['first/llm', 0, 1],
      ['first/sum/0/decision', 1, 2, decision],
      ['first/sum/0', 2, 3, sum],
      ['first/sum/1/decision', 1, 2, decision],
      ['first/sum/1', 2, null, sum],
      ['tool:sum/decision', 1, 2, decision],
      ['tool:pick/decision', 1, 2, { kind: 'approval', name: 'pick' }],
    ]
    const ended = ['first/llm', 'first/sum/0/decision', 'first/sum/0', 'tool:sum/decision']
    expect(kept([task('first')], lines)).toEqual(ended)
    expect(kept([task('first')], lines, 'first/sum/0')).toEqual(['first/llm'])
  })

  it('is all that finished when no step is named', () => {
    const lines: Line[] = [...performed.slice(0, 6), ['prices/llm2', 6, null]]
    expect(kept(beside, lines)).toEqual(performed.slice(0, 6).map(([path]) => path))
  })

  it('is the tasks that ran beside the one that is named, whenever they ended', () => {
    const others = ['first', 'first/llm', 'prices', 'prices/llm', 'prices/llm2']
    expect(kept(beside, performed, 'facts')).toEqual(others)
    expect(kept(beside, performed, 'facts/llm')).toEqual(others)
    expect(kept(beside, performed, 'prices/llm2')).toEqual([
      'first',
      'first/llm',
      'facts',
      'facts/llm',
      'prices/llm',
    ])
    expect(kept(beside, performed, 'extra')).toEqual(performed.slice(0, 9).map(([path]) => path))
  })

  it('is nothing of the tasks that waited for it, also where these do not get its output', () => {
    expect(kept(beside, performed, 'first')).toEqual([])
    const apart = [task('first'), task('second', { context: [] }), task('third', { context: [] })]
    const lines: Line[] = [
      ['first', 0, 1],
      ['second', 1, 2],
      ['third', 2, 3],
    ]
    expect(kept(apart, lines, 'second')).toEqual(['first'])
  })

  it('is what was done beside a call of a tool, or before it, and not what followed', () => {
    const lines: Line[] = [
      ['only', 0, 9],
      ['only/llm', 0, 1],
      ['only/search', 1, 3],
      ['only/fetch', 1, 5],
      ['only/llm2', 5, 9],
    ]
    expect(kept([task('only')], lines, 'only/search')).toEqual(['only/llm', 'only/fetch'])
    expect(kept([task('only')], lines, 'only/llm2')).toEqual([
      'only/llm',
      'only/search',
      'only/fetch',
    ])
  })

  it('is the other items of a list, whenever they were done', () => {
    const items: Line[] = [
      ['each', 0, null],
      ['each/item:0', 0, 2, { kind: 'task' }],
      ['each/item:0/llm', 0, 2],
      ['each/item:1', 2, 4, { kind: 'task' }],
      ['each/item:1/llm', 2, 4],
    ]
    expect(kept([task('each')], items, 'each/item:0')).toEqual(['each/item:1', 'each/item:1/llm'])
  })

  it('is what a manager did before it gave out the named work, in which all is done again', () => {
    const tasks = [task('plan', { agent: undefined }), task('end', { agent: undefined })]
    const lines: Line[] = [
      ['plan', 0, 9],
      ['plan/llm', 0, 1],
      ['plan/delegate', 1, 5],
      ['plan/delegate/writer/llm', 1, 3],
      ['plan/delegate/writer/llm2', 3, 5],
      ['plan/llm2', 5, 9],
      ['end', 9, 10],
    ]
    expect(kept(tasks, lines, 'plan/delegate')).toEqual(['plan/llm'])
    expect(kept(tasks, lines, 'plan/delegate/writer/llm2')).toEqual([
      'plan/llm',
      'plan/delegate/writer/llm',
    ])
  })

  it('goes by time within an attempt where the order of the tasks is not known', () => {
    const lines: Line[] = [
      ['first', 0, 2],
      ['beside', 1, 3],
      ['after', 2, 4],
      ['elsewhere', 1, 3, { attempt: 2 }],
    ]
    expect(kept([], lines, 'first')).toEqual(['beside'])
    expect(kept([], lines, 'after')).toEqual(['first', 'beside'])
  })

  it('is refused for a step that did not begin, with the reason', () => {
    const some = performed.slice(0, 4)
    expect(() => kept(beside, some, 'report')).toThrow(
      'The task report did not begin in this run, so it is done in any case. Leave from_step ' +
        'out, or name one that began. Tasks: first, facts.',
    )
    expect(() => kept(beside, some, 'reprot')).toThrow(
      'The run has no step "reprot" that began. Tasks: first, facts.',
    )
    expect(() => kept(beside, [], 'x')).toThrow('None of its tasks began.')
  })
})
