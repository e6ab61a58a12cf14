import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseCrewDefinition } from '../../../../services/platform/definitions/crew-definition.ts'
import {
  givenAgain,
  inputFields,
  readInputTexts,
  resolveInputs,
} from '../../../../services/platform/definitions/crew-inputs.ts'
import { inputText } from '../../../../services/platform/definitions/input-text.ts'
import { ownCrewDefinition } from '../../../../services/platform/definitions/own-crew-definition.ts'
import { toAppError } from '../../../../services/shared/errors.ts'
import { definition } from '../../../support/crew.ts'

/** A crew whose texts ask for `topic`, and that declares more. */
const crewWith = (...inputs: unknown[]) => parseCrewDefinition({ ...definition, inputs })

function refusalOf(call: () => unknown) {
  try {
    call()
  } catch (thrown) {
    const { code, message, details } = toAppError(thrown)
    return { code, message, details }
  }
  throw new Error('it was accepted')
}

describe('the inputs of a crew that is made from a source', () => {
  it('are those that it names, and whatever else is given', () => {
    const own = ownCrewDefinition({ name: 'Own', inputs: ['topic'] })
    expect(resolveInputs(own, { topic: 'bees', depth: 2 })).toEqual({ topic: 'bees', depth: 2 })
    expect(() => resolveInputs(own, { depth: 2 })).toThrow('These inputs are missing: topic.')
  })

  it('may be left out where the crew has defaults, which are shown and not sent', () => {
    const count = { name: 'count', required: false, default: 0 }
    const own = ownCrewDefinition({
      name: 'Own',
      inputs: ['topic', count, { name: 'day', required: false }],
    })
    expect(inputFields(own)).toEqual([
      { name: 'topic', required: true },
      count,
      { name: 'day', required: false },
    ])
    expect(resolveInputs(own, { topic: 'bees' })).toEqual({ topic: 'bees' })
    expect(resolveInputs(own, { topic: 'bees', count: 2 })).toEqual({ topic: 'bees', count: 2 })
  })
})

describe('the inputs of a crew', () => {
  it('are those that its texts name, each required and of any type', () => {
    expect(inputFields(definition)).toEqual([{ name: 'topic', required: true }])
  })

  it('are declared by a name, or with all that a form and a caller want to know', () => {
    const language = {
      name: 'language',
      type: 'string',
      label: 'Language',
      description: 'Of the answer.',
      default: 'English',
    }
    expect(inputFields(crewWith('depth', language, { name: 'draft', required: false }))).toEqual([
      { name: 'depth', required: true },
      { ...language, required: false },
      { name: 'draft', required: false },
      { name: 'topic', required: true },
    ])
  })

  it('take their defaults, and the empty text where there is none', () => {
    const crew = crewWith(
      { name: 'words', type: 'integer', default: 200 },
      { name: 'tone', required: false },
    )
    expect(resolveInputs(crew, { topic: 'tides' })).toEqual({
      words: 200,
      tone: '',
      topic: 'tides',
    })
    expect(resolveInputs(crew, { topic: 'tides', words: 50 })).toMatchObject({ words: 50 })
  })

  it('are taken again as an earlier run had them', () => {
    const crew = crewWith(
      { name: 'words', type: 'integer', required: false },
      { name: 'tone', default: 'plain' },
    )
    const inputs = resolveInputs(crew, { topic: 'tides', tone: '' })
    expect(inputs).toEqual({ words: '', tone: '', topic: 'tides' })
    expect(refusalOf(() => resolveInputs(crew, inputs)).message).toBe(
      'words must be a whole number.',
    )
    expect(resolveInputs(crew, givenAgain(crew, inputs))).toEqual(inputs)
  })

  it('are refused with all that is wrong at once', () => {
    const crew = crewWith({ name: 'words', type: 'integer' })
    expect(refusalOf(() => resolveInputs(crew, { topik: 'x', words: 'many' }))).toEqual({
      code: 'unprocessable',
      message:
        'These inputs are missing: topic. The input "topik" is not known. Did you mean topic? ' +
        'Known: words, topic. words must be a whole number.',
      details: {
        missing_inputs: ['topic'],
        unknown_inputs: ['topik'],
        invalid_inputs: [{ name: 'words', problem: 'must be a whole number' }],
      },
    })
  })

  it.each<[unknown, string]>([
    [null, 'topic must not be null; leave it out instead.'],
    ['', 'topic must not be empty.'],
    [' \n', 'topic must not be empty.'],
    ['a\0b', 'topic holds a character that cannot be stored.'],
  ])('of any type are refused when they are %j', (topic, message) => {
    expect(refusalOf(() => resolveInputs(definition, { topic }))).toMatchObject({ message })
  })

  it.each<[unknown]>([['x'], [0], [1.5], [true], [false], [{}], [['a']]])(
    'of any type may be %j',
    (topic) => {
      expect(resolveInputs(definition, { topic })).toEqual({ topic })
    },
  )

  it.each<[string, unknown, unknown]>([
    ['string', 'x', 1],
    ['number', 1.5, '1.5'],
    ['integer', 3, 3.5],
    ['boolean', false, 'false'],
    ['object', { a: 1 }, []],
    ['array', [], {}],
  ])('of the type %s take %j and refuse %j', (type, good, bad) => {
    const crew = crewWith({ name: 'topic', type })
    expect(resolveInputs(crew, { topic: good })).toEqual({ topic: good })
    expect(refusalOf(() => resolveInputs(crew, { topic: bad })).details).toHaveProperty(
      'invalid_inputs',
    )
  })

  it('with an enum take what is in it, and say what that is', () => {
    const crew = crewWith(
      { name: 'topic', enum: ['tides', 'waves', 3, { b: 1, a: [2] }] },
      { name: 'one', type: 'boolean', enum: [true], default: true },
    )
    for (const topic of ['tides', 3, { a: [2], b: 1 }]) {
      expect(resolveInputs(crew, { topic })).toEqual({ topic, one: true })
    }
    expect(refusalOf(() => resolveInputs(crew, { topic: '3', one: false })).message).toBe(
      'topic must be one of "tides", "waves", 3, {"b":1,"a":[2]}. one must be true.',
    )
    const many = crewWith({ name: 'topic', enum: Array.from({ length: 30 }, (_, at) => at) })
    expect(refusalOf(() => resolveInputs(many, { topic: 30 })).message).toMatch(
      /^topic must be one of 0, 1, .*, 19 and 10 more\.$/,
    )
  })

  it('with an enum come from a form by the text of each value', () => {
    const values = ['3', 4, true, { b: 1, a: [2] }, [1]]
    const crew = crewWith({ name: 'topic', enum: values })
    for (const value of values) {
      expect(readInputTexts(inputFields(crew), () => inputText(value))).toEqual({ topic: value })
    }
    expect(readInputTexts(inputFields(crew), () => '5')).toEqual({ topic: '5' })
  })

  it('come from a form as they would come from a caller', () => {
    const typed = (type: string) => crewWith({ name: 'topic', type })
    const read = (type: string, text: string) =>
      readInputTexts(inputFields(typed(type)), () => text)['topic']
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(read('object', JSON.stringify(value))).toEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
    expect(read('string', '7')).toBe('7')
    expect(read('number', 'seven')).toBe('seven')
    // What the body of a call is refused for is no JSON here either.
    for (const text of ['{"a":"\\u0000"}', '{"a":1,"a":2}', '[1e999]', '['.repeat(40)]) {
      expect(read('object', text)).toBe(text)
    }
    const optional = crewWith({ name: 'words', type: 'integer', default: 200 })
    expect(readInputTexts(inputFields(optional), () => '')).toEqual({ topic: '' })
  })
})
