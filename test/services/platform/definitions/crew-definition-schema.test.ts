import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, it } from 'vitest'
import { crewDefinitionSchema } from '../../../../services/platform/definitions/crew-definition-schema.ts'
import { parseCrewDefinition } from '../../../../services/platform/definitions/crew-definition.ts'
import { INTERNAL_DEFINITIONS } from '../../../../services/platform/definitions/internal-crew-definitions.ts'
import { sampleCrews } from '../../../../services/platform/crews/sample-crews.ts'
import { definition } from '../../../support/crew.ts'

const pinned = { tools: [{ name: 'find', input_schema: { type: 'object' } }] }
const mcp = { type: 'mcp', url: 'https://mcp.example.com/', tools: ['find'] }
const full = {
  ...definition,
  inputs: ['topic', { name: 'words', type: 'integer', default: 200 }],
  tools: {
    clock: { type: 'time' },
    docs: { type: 'fetch', allow: ['docs.example.com'] },
    shop: { ...mcp, pinned },
  },
}

const accepts = (given: unknown, isWritten = false): boolean =>
  new Ajv2020().compile(crewDefinitionSchema({ isWritten }))(given)
const parses = (given: unknown): boolean => {
  try {
    parseCrewDefinition(given)
    return true
  } catch {
    return false
  }
}

describe('the JSON Schema of crew definitions', () => {
  const samples = sampleCrews.map((sample) => sample.definition)
  it.each([full, ...samples, ...Object.values(INTERNAL_DEFINITIONS)])(
    'accepts what can be stored: $name',
    (given) => {
      expect([parses(given), accepts(given)]).toEqual([true, true])
    },
  )

  const bad: readonly [string, unknown][] = [
    ['a key that is not known', { ...full, agent: [] }],
    ['no task', { ...full, tasks: [] }],
    ['an input that is neither name nor object', { ...full, inputs: [7] }],
    ['an input of an unknown type', { ...full, inputs: [{ name: 'x', type: 'date' }] }],
    ['a tool of an unknown type', { ...full, tools: { x: { type: 'shell' } } }],
    ['a tool without its address', { ...full, tools: { x: { type: 'mcp', tools: ['a'] } } }],
    ['a tool with a name that models cannot be told', { ...full, tools: { 'a b': mcp } }],
  ]
  it.each(bad)('refuses, as storing does: %s', (_, given) => {
    expect([parses(given), accepts(given)]).toEqual([false, false])
  })

  it('has no pins for those who write a definition', () => {
    expect(accepts(full, true)).toBe(false)
    expect(accepts({ ...full, tools: { shop: mcp } }, true)).toBe(true)
  })
})
