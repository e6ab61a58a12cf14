import * as fc from 'fast-check'
import { html } from 'hono/html'
import { describe, expect, it } from 'vitest'
import {
  questionFields,
  readAnswers,
} from '../../../../services/web/console/frame/question-form.ts'
import { problemsUnder } from '../../../../services/shared/json-schema.ts'
import { readQuestions } from '../../../../services/shared/mcp/elicitation.ts'

const word = fc.stringMatching(/^[a-z<>"'& .-]{1,12}$/)
const words = fc.uniqueArray(word, { minLength: 1, maxLength: 4 })
const asOptions = (values: readonly string[]) =>
  values.map((value) => ({ const: value, title: `${value}!` }))

/** A field, with an answer that it takes; none for one that is left out. */
const fieldAndAnswer = fc.oneof(
  word.map((answer) => [{ type: 'string', minLength: 1 }, answer] as const),
  fc.integer().map((answer) => [{ type: 'integer', default: 3 }, answer] as const),
  fc
    .double({ noNaN: true, noDefaultInfinity: true })
    .filter((each) => !Object.is(each, -0))
    .map((answer) => [{ type: 'number' }, answer] as const),
  fc.boolean().map((answer) => [{ type: 'boolean', title: '<b>' }, answer] as const),
  words.map((all) => [{ type: 'string', enum: all }, all[0]] as const),
  words.map((all) => [{ type: 'string', oneOf: asOptions(all) }, all.at(-1)] as const),
  words.map((all) => [{ type: 'array', items: { anyOf: asOptions(all) } }, all] as const),
  words.map((all) => [{ type: 'array', items: { type: 'string', enum: all } }, []] as const),
  fc.constant([{ type: 'string', format: 'date' }, undefined] as const),
)
const keys = fc.string({ maxLength: 20 }).filter((key) => !/\p{Surrogate}|\0/u.test(key))
const forms = fc.dictionary(
  keys,
  fc.dictionary(keys, fieldAndAnswer, { noNullPrototype: true, maxKeys: 6 }),
  { noNullPrototype: true, minKeys: 1, maxKeys: 5 },
)

/** Each key that objects have by themselves, asked for under each. */
const OF_OBJECTS = keyed(keyed([{ type: 'string', minLength: 1 }, 'given'] as const))

function keyed<Value>(value: Value): Record<string, Value> {
  const names = ['__proto__', 'prototype', 'constructor', 'toString', 'hasOwnProperty']
  return Object.fromEntries(names.map((name) => [name, value]))
}

/** Choices are sent by their places. */
function placeOf(field: object, value: unknown): number | undefined {
  const { enum: named, oneOf, items } = field as Choosing
  const titled = oneOf ?? items?.anyOf
  const all = titled?.map((each) => each.const) ?? items?.enum ?? named
  return all?.findIndex((each) => each === value)
}

interface Choosing {
  readonly enum?: readonly string[]
  readonly oneOf?: readonly { readonly const: string }[]
  readonly items?: { readonly anyOf?: Choosing['oneOf']; readonly enum?: readonly string[] }
}

describe('the form of a question', () => {
  it('sends what was answered, under the keys of the server, as its schema takes it', async () => {
    await fc.assert(
      fc.asyncProperty(forms, async (asked) => {
        const entries = Object.entries(asked)
        const requests = entries.map(([key, fields]) => {
          const properties = Object.entries(fields).map(([name, [field]]) => [name, field])
          const requestedSchema = { type: 'object', properties: Object.fromEntries(properties) }
          const params = { message: 'Which?', requestedSchema }
          return [key, { method: 'elicitation/create', params }]
        })
        const questions = readQuestions(Object.fromEntries(requests))
        const schemas = Object.entries(questions).map(([key, { schema }]) => [key, schema])
        const parameters = { type: 'object', properties: Object.fromEntries(schemas) }
        const question = { server: 'x', messages: {} }
        const call = { id: 'i', name: 'n', tool: 't', description: '', parameters, question }
        const form = new URLSearchParams()
        entries.forEach(([, fields], at) =>
          Object.values(fields).forEach(([field, answer], place) => {
            const values = Array.isArray(answer) ? answer : answer === undefined ? [] : [answer]
            for (const each of values.filter((one) => one !== false)) {
              form.append(`answer.${at}.${place}`, String(placeOf(field, each) ?? each))
            }
          }),
        )
        const text = readAnswers(call, form)
        const read: unknown = JSON.parse(text)
        const expected = entries.map(([key, fields]) => [
          key,
          Object.fromEntries(Object.entries(fields).map(([name, [, answer]]) => [name, answer])),
        ])
        expect(text).toBe(JSON.stringify(Object.fromEntries(expected)))
        expect(problemsUnder(parameters, read)).toEqual([])
        const shown = String(await html`${questionFields(call)}`)
        for (const name of new Set(form.keys())) expect(shown).toContain(`name="${name}"`)
      }),
      {
        numRuns: 40,
        examples: [[{ valueOf: {}, toString: {} }], [OF_OBJECTS]],
      },
    )
  })
})
