import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseCrewDefinition } from '../../../../../services/platform/definitions/crew-definition.ts'
import { orderTasks } from '../../../../../services/platform/definitions/task-order.ts'
import {
  crewGraph,
  placeTasks,
  tasksOf,
} from '../../../../../services/web/console/frame/crew-graph.ts'
import { actOn, applyForm } from '../../../../../services/web/console/projects/editor/document.ts'
import { editorForm } from '../../../../../services/web/console/projects/editor/form.ts'
import type { Draft } from '../../../../../services/web/console/projects/editor/values.ts'
import { isLong } from '../../../../support/long.ts'
import { fieldsOf } from '../../support/form-fields.ts'

const choices = {
  offers: new Map(),
  connections: ['stock'],
  automations: [{ name: 'Weather', slug: 'weather' }],
}
const shown = (draft: Draft, problems: readonly string[] = []): string =>
  [editorForm(draft, { problems, choices })].map(String).join('')
/** What the form of a draft sends when nobody has changed it. */
const sentBy = (draft: Draft) => fieldsOf(shown(draft))

const prose = fc
  .string({ unit: fc.constantFrom('a', 'B', ' ', '\n', '"', '<', '&', "'", '{', '}', 'é', '😀') })
  .map((text) => `x${text}`)
const line = prose.map((text) => text.replaceAll('\n', ' '))
const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined })
const truth = maybe(fc.boolean())
const withoutNone = (entry: object): object =>
  Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== undefined))

const tool = fc.oneof(
  fc.record({
    type: fc.constant('mcp'),
    url: fc.constant('https://mcp.example.com/mcp'),
    tools: fc.uniqueArray(fc.constantFrom('search', 'a b', 'x,y', '<b>'), { minLength: 1 }),
    connection: maybe(fc.constantFrom('stock', 'other')),
    timeout_seconds: maybe(fc.integer({ min: 1, max: 600 })),
    approve: maybe(fc.constantFrom('always', 'once_per_run', { when: '@.arguments.a > "<b>"' })),
    decide_within_minutes: maybe(fc.integer({ min: 1, max: 1000 })),
    undecided: maybe(fc.constantFrom('approve', 'reject')),
  }),
  fc.record({
    type: fc.constant('http'),
    openapi_url: fc.constant('https://api.example.com/openapi.json'),
    operations: fc.uniqueArray(fc.constantFrom('getOne', 'put two'), { minLength: 1 }),
    base_url: maybe(fc.constant('https://api.example.com/v1')),
  }),
  fc.record({
    type: fc.constant('http'),
    openapi: fc.constant({ paths: { '/"<': [1, null] } }),
    operations: fc.constant(['a']),
  }),
  fc.record({
    type: fc.constant('fetch'),
    allow: fc.uniqueArray(fc.constantFrom('a.example', '*.b.example', 'https://c.example/d/'), {
      minLength: 1,
    }),
  }),
  fc.record({
    type: fc.constant('automation'),
    automation: fc.constantFrom('weather', 'not-there'),
    approve: maybe(fc.constant('always')),
  }),
  fc.record({ type: fc.constantFrom('time', 'calculator', 'json_query') }),
)

/** Valid definitions with all that the form has fields for, and some that it has none for. */
const definitions = fc
  .record({
    tools: maybe(fc.dictionary(fc.constantFrom('one', 'two', 'three'), tool.map(withoutNone))),
    agents: fc.array(
      fc.record({
        role: prose,
        goal: prose,
        backstory: maybe(prose),
        tools: maybe(fc.uniqueArray(fc.constantFrom('one', 'two'))),
        allow_delegation: truth,
        max_iterations: maybe(fc.integer({ min: 1, max: 100 })),
      }),
      { minLength: 1, maxLength: 3 },
    ),
    tasks: fc.array(
      fc.record({
        description: prose,
        expected_output: prose,
        agent: fc.nat(2),
        context: maybe(fc.uniqueArray(fc.nat(5))),
        async: truth,
        human_input: truth,
        markdown: truth,
        decide_within_minutes: maybe(fc.integer({ min: 1, max: 1000 })),
        undecided: maybe(fc.constantFrom('approve', 'reject')),
        guardrail_max_retries: maybe(fc.integer({ min: 0, max: 10 })),
        when: maybe(fc.constant('@.inputs.in0 == "<a>"')),
        for_each: maybe(fc.constant('$.inputs.in0')),
        parallel: maybe(fc.integer({ min: 1, max: 16 })),
        timeout_seconds: maybe(fc.integer({ min: 1, max: 100 })),
        retry: maybe(
          fc.record(
            {
              times: fc.integer({ min: 1, max: 10 }),
              wait_seconds: fc.nat(600),
              on: fc.uniqueArray(fc.constantFrom('llm_timeout', 'task_timeout', 'unknown')),
            },
            { requiredKeys: [] },
          ),
        ),
      }),
      { minLength: 1, maxLength: 4 },
    ),
    inputs: maybe(
      fc.array(
        fc.oneof(
          fc.constant('plain'),
          fc.record({
            label: maybe(line),
            description: maybe(line),
            default: maybe(fc.jsonValue()),
            required: truth,
          }),
        ),
        { maxLength: 3 },
      ),
    ),
    process: maybe(fc.constant('sequential')),
    temperature: maybe(fc.double({ min: 0, max: 2, noNaN: true })),
  })
  .map(
    ({ tools, agents, tasks, inputs, temperature, ...crew }) =>
      withoutNone({
        name: 'A crew',
        llm: withoutNone({ model: 'm', temperature }),
        ...crew,
        inputs: inputs?.map((each, index) =>
          typeof each === 'string' ? `plain${index}` : withoutNone({ name: `in${index}`, ...each }),
        ),
        tools,
        agents: agents.map((agent, index) => withoutNone({ key: `agent${index}`, ...agent })),
        tasks: tasks.map((task, index) =>
          withoutNone({
            key: `task${index}`,
            ...task,
            agent: `agent${task.agent % agents.length}`,
            context: task.context?.filter((each) => each < index).map((each) => `task${each}`),
          }),
        ),
      }) as Draft,
  )

describe('the form of a definition', () => {
  it('loses nothing of any definition, whatever it has fields for', () => {
    fc.assert(
      fc.property(definitions, (draft) => {
        expect(JSON.parse(JSON.stringify(applyForm(draft, sentBy(draft))))).toEqual(
          JSON.parse(JSON.stringify(draft)),
        )
      }),
      { numRuns: isLong ? 2000 : 100 },
    )
  })

  it('names what is named by a key by the new one, and makes keys where none is typed', () => {
    const draft = {
      agents: [{ key: 'editor', role: 'Editor', goal: 'g', tools: ['web'] }],
      tasks: [
        { key: 'write', agent: 'editor', description: 'd', expected_output: 'e' },
        {
          key: '',
          agent: 'editor',
          description: 'Read it once more!',
          expected_output: 'e',
          context: ['write'],
          when: '@.outputs.write.words > 5 && !@.outputs.writer',
          for_each: '$.outputs.write.json',
        },
      ],
      tools: { web: { type: 'fetch', allow: ['a.example'] } },
    }
    const form = sentBy(draft)
    form.set('agents.0.key', 'poet')
    form.set('tasks.0.key', 'draft')
    form.set('tools.0.key', 'pages')
    expect(applyForm(draft, form)).toMatchObject({
      agents: [{ key: 'poet', tools: ['pages'] }],
      tasks: [
        { key: 'draft', agent: 'poet' },
        {
          key: 'read_it_once',
          agent: 'poet',
          context: ['draft'],
          when: '@.outputs.draft.words > 5 && !@.outputs.writer',
          for_each: '$.outputs.draft.json',
        },
      ],
      tools: { pages: { allow: ['a.example'] } },
    })
  })

  it('adds a tool of each type, which its fields fill', () => {
    const draft = ['mcp', 'http', 'fetch', 'time', 'calculator', 'json_query'].reduce<Draft>(
      (before, kind) => actOn(before, `add-tools.${kind}`),
      { name: 'A crew', llm: { model: 'm' } },
    )
    const form = sentBy(draft)
    form.set('tools.0.url', ' https://mcp.example.com/mcp ')
    form.append('tools.0.ticked', 'search it')
    form.set('tools.0.tools', 'find, sort')
    form.set('tools.1.openapi_url', 'https://api.example.com/openapi.json')
    form.set('tools.1.operations', 'getOne')
    form.set('tools.2.allow', 'a.example\r\n\r\n*.b.example')
    const read = applyForm(draft, form)
    expect(read['tools']).toEqual({
      mcp: {
        type: 'mcp',
        url: 'https://mcp.example.com/mcp',
        tools: ['search it', 'find', 'sort'],
      },
      http: {
        type: 'http',
        openapi_url: 'https://api.example.com/openapi.json',
        operations: ['getOne'],
      },
      fetch: { type: 'fetch', allow: ['a.example', '*.b.example'] },
      time: { type: 'time' },
      calculator: { type: 'calculator' },
      json_query: { type: 'json_query' },
    })
    expect(() => parseCrewDefinition({ ...read, agents: [], tasks: [] })).toThrow(
      /^The crew definition is not valid: agents: must not be empty; tasks: must not be empty$/,
    )
  })

  it('says beside a field what is wrong with it, and counts it at its entry', () => {
    const draft = {
      agents: [{ key: 'a', role: '', goal: 'g' }],
      tasks: [{ key: 't', retry: { times: 90 } }],
      tools: { t: { type: 'mcp', url: 'ftp://x', tools: [] } },
    }
    const problems = [
      'tasks[0].retry.times: must be a whole number from 1 to 10',
      'tasks[0].when: names the input x',
      'agents[0].role: must not be empty',
      'tools.t.url: must be an address',
      'tasks: must not be empty',
    ]
    const page = shown(draft, problems)
    expect(page).toContain('data-mark="agents.0.role">must not be empty<')
    expect(page).toContain('data-mark="tools.0.url">must be an address<')
    expect(page).toContain('data-mark="tasks.0.retry.times">must be a whole number')
    expect(page).toContain('data-mark="tasks.0.when">names the input x<')
    expect(page).toMatch(/data-count="agents\.0"\s*>\s*1\s*</)
  })
})

describe('the graph of a crew', () => {
  const tasks = fc
    .array(fc.record({ async: fc.boolean(), context: maybe(fc.uniqueArray(fc.nat(12))) }), {
      maxLength: 12,
    })
    .map((all) =>
      all.map(({ async: isAsync, context }, index) => ({
        key: `t${index}`,
        async: isAsync,
        context: context?.filter((each) => each < index).map((each) => `t${each}`),
      })),
    )

  it('has each task below all that it waits for, and says by its lines what that is', () => {
    fc.assert(
      fc.property(tasks, (all) => {
        const places = placeTasks(tasksOf({ tasks: all }))
        const found = new Map<string, ReadonlySet<string>>()
        const rows = new Map<string, number>()
        for (const [index, { task, row, after }] of places.entries()) {
          for (const key of after) expect(rows.get(key)).toBeLessThan(row)
          rows.set(task.key, row)
          const reached = after.flatMap((key) => [key, ...(found.get(key) ?? [])])
          found.set(task.key, new Set(reached))
          // All that the worker waits for, and what that waits for itself.
          const waits = orderTasks(all)[index]?.after ?? []
          const whole = waits.flatMap((key) => [key, ...(found.get(key) ?? [])])
          expect(found.get(task.key)).toEqual(new Set(whole))
        }
      }),
      { numRuns: 200 },
    )
  })

  it('says which tasks are conditional, repeated, retried, checked and approved', async () => {
    const all = { when: '@.inputs.x', for_each: '$.inputs.x', retry: {}, guardrails: [] }
    const tasks = [{ key: 'a', ...all, human_input: true }, { key: 'b' }]
    const page = String(await crewGraph({ tasks }, new Map([['b', 'skipped']])))
    expect(page).toContain(
      'a (conditional, each item, retried, checked, approved); b after a (skipped)',
    )
    expect(page).toMatch(/class=" conditional">\s*<rect[^>]*>\s*<rect/)
  })

  it('leaves out what is no task, and lines to what is not there', () => {
    const odd = [1, null, { key: 7 }, { key: 'a', context: ['a', 'b'] }, { key: 'a' }, { key: 'b' }]
    expect(placeTasks(tasksOf({ tasks: odd })).map(({ task, after }) => [task.key, after])).toEqual(
      [
        ['a', []],
        ['b', ['a']],
      ],
    )
    expect(tasksOf('no object')).toEqual([])
  })
})
