import fc from 'fast-check'
import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { outputSchema } from '../../../../services/platform/definitions/output-schema.ts'
import { problemsUnder } from '../../../../services/shared/json-schema.ts'

const RUNS = Number(process.env['FUZZ_RUNS'] ?? 200)

const problemsOf = (given: unknown): string[] =>
  v.safeParse(outputSchema, given).issues?.map(({ message }) => message) ?? []

const nested = (levels: number): object =>
  levels === 0 ? {} : { type: 'array', items: nested(levels - 1) }

describe('the schema of an output', () => {
  it.each([
    { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
    { type: ['string', 'null'], maxLength: 7, examples: ['x'], 'x-mine': 1 },
    { $defs: { node: { properties: { next: { $ref: '#/$defs/node' } } } }, $ref: '#/$defs/node' },
    { properties: { 'a/b~c': { enum: [1] }, other: { $ref: '#/properties/a~1b~0c' } } },
    { properties: { all: { items: { $ref: '#' } } } },
    { items: [{ type: 'number' }], additionalItems: false, not: { const: 1 } },
    {},
  ])('is taken: %j', (schema) => {
    expect(problemsOf(schema)).toEqual([])
    expect(problemsUnder(schema, { next: { next: {} } })).not.toContain('cannot be used')
  })

  it.each([
    ['x', 'must be a JSON Schema, which is an object'],
    [[], 'must be a JSON Schema, which is an object'],
    [{ type: 'text' }, '#/type must be one or more of string, number, integer'],
    [{ properties: { a: 1 } }, '#/properties/a must be a schema'],
    [{ properties: [] }, '#/properties must be an object of schemas'],
    [{ anyOf: [] }, '#/anyOf must be a list of schemas'],
    [{ items: { pattern: '(' } }, '#/items/pattern must be a regular expression'],
    [{ required: 'a' }, '#/required must be a list of names'],
    [{ enum: [] }, '#/enum must be a list with a value'],
    [{ minimum: '1' }, '#/minimum must be a number'],
    [{ maxLength: -1 }, '#/maxLength must be a whole number'],
    [{ uniqueItems: 1 }, '#/uniqueItems must be true or false'],
    [{ $id: 'https://example.com' }, '#/$id is not taken; leave it out'],
    [{ $ref: 'https://example.com/s.json' }, '#/$ref must name a part of the same schema'],
    [{ $ref: '#/$defs/none' }, '#/$ref: there is no #/$defs/none'],
    [{ $ref: '#' }, '# refers to itself, and never ends'],
    [{ anyOf: [{ $ref: '#/$defs/a' }], $defs: { a: { not: { $ref: '#' } } } }, 'never ends'],
    [nested(60), 'is nested more than 40 levels deep'],
    [{ enum: ['x'.repeat(40_000)] }, 'characters, and 32768 are allowed'],
    [{ title: '\0' }, 'has characters that cannot be stored'],
  ])('is refused: %j', (schema, message) => {
    expect(problemsOf(schema)[0]).toContain(message)
  })

  it('never keeps a check from its end, once it was taken', () => {
    const reference = fc.constantFrom('#', '#/$defs/a', '#/$defs/b', '#/properties/a')
    const { part } = fc.letrec<{ part: object }>((tie) => ({
      part: fc.oneof(
        { maxDepth: 4 },
        fc.record({ type: fc.constantFrom('object', 'string', 'array') }),
        fc.record({ $ref: reference }),
        fc.record({ allOf: fc.array(tie('part'), { minLength: 1, maxLength: 2 }) }),
        fc.record({ properties: fc.record({ a: tie('part') }) }),
        fc.record({ items: tie('part'), not: tie('part') }, { requiredKeys: [] }),
      ),
    }))
    const schemas = fc
      .tuple(part, part, part)
      .map(([a, b, whole]) => ({ ...whole, $defs: { a, b } }))
    const value = { a: { a: [{ a: 'x' }, []] } }
    fc.assert(
      fc.property(schemas, (schema) => {
        const found = problemsUnder(schema, value).filter((each) => each.includes('cannot be used'))
        if (problemsOf(schema).length === 0) expect(found).toEqual([])
      }),
      { numRuns: RUNS },
    )
  })
})
