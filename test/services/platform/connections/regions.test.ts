import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { modelsOutside, toolsOutside } from '../../../../services/platform/connections/regions.ts'
import type { Tools } from '../../../../services/platform/tools/tool-definitions.ts'

const region = fc.constantFrom('eu', 'eu-west', 'us', 'e')
const placed = fc.option(region, { nil: null })
const url = 'https://example.com/'

describe('what is outside of a rule', () => {
  it('is each model and tool with no place in it, and nothing else', () => {
    const models = fc.array(fc.record({ model: fc.constantFrom('a', 'b'), region: placed }))
    const connections = fc.uniqueArray(
      fc.record({ name: fc.constantFrom('x', 'y'), region: placed }),
      { selector: ({ name }) => name },
    )
    const own = fc.constantFrom('x', 'y', undefined)
    const tool = fc.record({ connection: own, region: placed })
    fc.assert(
      fc.property(
        fc.uniqueArray<string, string>(region),
        fc.record({ models, connections, tools: fc.array(tool, { maxLength: 4 }) }),
        (allowed, { models: ofModels, connections: ofTools, tools }) => {
          const isInside = (where: string | null | undefined) =>
            allowed.length === 0 || (typeof where === 'string' && allowed.includes(where))
          const wrongModels = ['a', 'b'].filter(
            (each) =>
              allowed.length > 0 &&
              !ofModels.some((of) => of.model === each && isInside(of.region)),
          )
          const wrongTools = tools.flatMap(({ connection, region: said }, index) => {
            const where =
              connection === undefined
                ? said
                : ofTools.find(({ name }) => name === connection)?.region
            return isInside(where) ? [] : [`t${index}`]
          })
          const given: Tools = Object.fromEntries(
            tools.map(({ connection, region: said }, index) => [
              `t${index}`,
              {
                type: 'mcp' as const,
                url,
                tools: ['find'],
                ...(connection === undefined ? said && { region: said } : { connection }),
              },
            ]),
          )
          const names = (found: readonly string[]) => found.map((each) => each.split(' ')[2])
          expect(names(modelsOutside(allowed, ['a', 'b'], ofModels))).toEqual(wrongModels)
          expect(names(toolsOutside(allowed, given, ofTools))).toEqual(wrongTools)
        },
      ),
    )
  })

  it('is what reads any page, and neither what calls nobody nor another automation', () => {
    const tools: Tools = {
      now: { type: 'time' },
      sums: { type: 'calculator' },
      other: { type: 'automation', automation: 'other-1' },
      pages: { type: 'fetch', allow: ['eu.example.com'] },
    }
    expect(toolsOutside(['eu'], tools, [])).toEqual([
      'the tool pages reads web pages, wherever they are',
    ])
    expect(toolsOutside([], tools, [])).toEqual([])
  })
})
