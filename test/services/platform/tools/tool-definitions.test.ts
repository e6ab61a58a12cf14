import { describe, expect, it } from 'vitest'
import { parseCrewDefinition } from '../../../../services/platform/definitions/crew-definition.ts'
import { offeredTools } from '../../../../services/platform/definitions/offered-tools.ts'
import type { Tools } from '../../../../services/platform/tools/tool-definitions.ts'
import { readDocument } from '../../../docs/documents.ts'
import { definition } from '../../../support/crew.ts'

const [agent] = definition.agents
const [task] = definition.tasks

const withTools = (tools: unknown, more: object = {}) =>
  parseCrewDefinition({ ...definition, tools, agents: [{ ...agent, ...more }], tasks: [task] })

const mcp = { type: 'mcp' as const, url: 'https://x.test/mcp', tools: ['search'] }
const http = { type: 'http', openapi: {}, operations: ['getPet'] }
const clocks = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`t${at}`, { type: 'time' }]))

describe('the tools of a definition', () => {
  it('are those of the manual', () => {
    const [, example = ''] = /```json\n([^]*?)```/.exec(readDocument('docs/tools.md')) ?? []
    const parsed = parseCrewDefinition(JSON.parse(example))
    expect(Object.values(parsed.tools ?? {}).map(({ type }) => type)).toEqual([
      'mcp',
      'http',
      'fetch',
      'time',
      'calculator',
      'json_query',
    ])
  })

  it('are kept as they are written', () => {
    const asks = { approve: { when: '@.arguments.n > @.inputs.n' }, undecided: 'approve' }
    const c = { type: 'fetch', allow: ['*.x.test:8443'], approve: 'once_per_run' }
    const tools = { a: mcp, b: http, c, d: { type: 'time', ...asks } }
    expect(withTools(tools, { tools: ['a'], max_iterations: 3 })).toMatchObject({ tools })
    // A server may ask without approve.
    const asking = { a: { ...mcp, decide_within_minutes: 5 } }
    expect(withTools(asking)).toMatchObject({ tools: asking })
  })

  it('are 50 at the most', () => {
    expect(withTools(clocks(50))).toMatchObject({ tools: clocks(50) })
  })

  it.each<[string, unknown, string]>([
    ['no type', { a: {} }, 'tools.a.type: must be one of mcp, http, fetch, automation, time'],
    ['an unknown type', { a: { type: 'python' } }, 'tools.a.type: must be one of mcp, http'],
    ['a text', { a: 'x' }, 'tools.a: must be an object'],
    ['a list', [], 'tools: must be an object'],
    ['a bad name', { 'a b': mcp }, 'must start with a letter'],
    ['a stray key', { a: { ...mcp, tool: [] } }, 'tools.a: tool is not known. Did you mean tools?'],
    ['no address', { a: { ...mcp, url: 'x.test' } }, 'tools.a.url: must be an absolute address'],
    ['a password', { a: { ...mcp, url: 'https://u:p@x.test' } }, 'must have no user name'],
    ['no allowed tool', { a: { ...mcp, tools: [] } }, 'tools.a.tools: must not be empty'],
    ['a tool twice', { a: { ...mcp, tools: ['x', 'x'] } }, 'must not name one twice'],
    ['half a second', { a: { ...mcp, timeout_seconds: 0.5 } }, 'must be a whole number'],
    ['an hour', { a: { ...mcp, timeout_seconds: 3600 } }, 'must be at most 600'],
    [
      'no document',
      { a: { ...http, openapi: undefined } },
      'exactly one of openapi and openapi_url',
    ],
    ['two documents', { a: { ...http, openapi_url: 'https://x.test' } }, 'exactly one of openapi'],
    ['no place', { a: { type: 'fetch', allow: [] } }, 'tools.a.allow: must not be empty'],
    [
      'a bad place',
      { a: { type: 'fetch', allow: ['*'] } },
      'must be a host such as docs.example.com',
    ],
    [
      'fields of another type',
      { a: { type: 'time', url: 'x' } },
      'url is not known; allowed: type',
    ],
    [
      'an unknown approval',
      { a: { type: 'time', approve: 'never' } },
      'tools.a.approve: must be one of always, once_per_run, or an object with when',
    ],
    [
      'a condition that cannot be read',
      { a: { type: 'time', approve: { when: '@.arguments.x >' } } },
      'tools.a.approve.when: cannot be read',
    ],
    [
      'a condition over nothing that is there',
      { a: { type: 'time', approve: { when: '@.argument.x > 1' } } },
      'tools.a.approve.when: must look at @.arguments and @.inputs',
    ],
    [
      'a time for no decision',
      { a: { type: 'time', decide_within_minutes: 5 } },
      'the tool a says when a person has to decide, and lacks approve',
    ],
    [
      'an agreement to no question',
      { a: { ...mcp, undecided: 'approve' } },
      'the tool a says when a person has to decide, and lacks approve',
    ],
    ['more than 50', clocks(51), 'must have at most 50 tools'],
  ])('are refused with %s', (_, tools, message) => {
    expect(() => withTools(tools)).toThrow(message)
  })

  it('are the only ones that an agent may name, once each', () => {
    expect(() => withTools({ a: mcp }, { tools: ['b'] })).toThrow(
      'the agent researcher names the tool b, which is not in tools.',
    )
    expect(() => withTools({ a: mcp }, { tools: ['a', 'a'] })).toThrow('must not name one twice')
    expect(() => withTools({}, { max_iterations: 0 })).toThrow('must be at least 1')
  })
})

describe('the names that a model sees', () => {
  const namesOf = (tools: Tools) => offeredTools(tools).map(({ name }) => name)

  it('are those of the tools themselves, as providers allow them', () => {
    const tools = { docs: { ...mcp, tools: ['search', 'a.b/c'] }, now: { type: 'time' as const } }
    expect(namesOf(tools)).toEqual(['search', 'a_b_c', 'now'])
  })

  it('have the tool before them where another one has the name too', () => {
    expect(namesOf({ a: mcp, b: mcp, search: { type: 'calculator' } })).toEqual([
      'a_search',
      'b_search',
      'search',
    ])
  })

  it('are refused when two are the same, or one is too long', () => {
    expect(() => withTools({ a: { ...mcp, tools: ['x.y', 'x_y'] } })).toThrow(
      'a.x.y and a.x_y would both be shown to the model as x_y',
    )
    expect(() => withTools({ a: { ...mcp, tools: ['x'.repeat(65)] } })).toThrow(
      'is longer than 64 characters',
    )
  })
})
