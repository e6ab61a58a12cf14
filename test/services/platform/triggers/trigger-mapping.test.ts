import { describe, expect, it } from 'vitest'
import {
  mapDelivery,
  mappingProblem,
} from '../../../../services/platform/triggers/trigger-mapping.ts'
import type { Mapping } from '../../../../services/platform/triggers/trigger-mapping.ts'

const FACTS = {
  body: {
    type: 'push',
    ref: 'refs/heads/main',
    size: 2,
    pusher: { name: 'ada', email: null },
    commits: [{ message: 'Fix the tide' }, { message: 'Add a moon' }],
  },
  headers: { 'x-github-event': 'push' },
}

const map = (mapping: Partial<Mapping>, facts: Parameters<typeof mapDelivery>[1] = FACTS) =>
  mapDelivery({ filter: null, deliveryPath: null, inputs: {}, ...mapping }, facts)
const inputsOf = (inputs: Mapping['inputs']) => map({ inputs }).inputs

describe('inputs', () => {
  it('keep the type of what a template finds that stands alone', () => {
    const inputs = { size: '{{ $.body.size }}', who: '{{$.body.pusher}}', fixed: 7 }
    expect(inputsOf(inputs)).toEqual({ size: 2, who: FACTS.body.pusher, fixed: 7 })
  })

  it('have texts with what templates in them find', () => {
    const topic =
      '{{ $.body.pusher.name }} pushed {{ $.body.size }} to {{ $.body.ref }}: {{ $.no }}.'
    expect(inputsOf({ topic })).toEqual({ topic: 'ada pushed 2 to refs/heads/main: .' })
  })

  it('have lists of what a path finds that leads to many places', () => {
    const path = '{{ $.body.commits[*].message }}'
    expect(inputsOf({ list: path, text: `All: ${path}` })).toEqual({
      list: ['Fix the tide', 'Add a moon'],
      text: 'All: Fix the tide, Add a moon',
    })
  })

  it('are filled within objects and lists, and left out where nothing is found', () => {
    const inputs = {
      of: { name: '{{ $.body.pusher.name }}', no: '{{ $.no }}' },
      none: '{{ $.no }}',
    }
    expect(inputsOf({ ...inputs, list: ['{{ $.headers["x-github-event"] }}'] })).toEqual({
      of: { name: 'ada' },
      list: ['push'],
    })
  })

  it('take texts of a delivery as they are: no template, no path', () => {
    const facts = { body: { a: '{{ $.body.b }}', b: 'secret' }, headers: {} }
    expect(map({ inputs: { a: '{{ $.body.a }}!' } }, facts).inputs).toEqual({
      a: '{{ $.body.b }}!',
    })
    const money = { body: { a: '$& $1 $`' }, headers: {} }
    expect(map({ inputs: { a: '<{{ $.body.a }}>' } }, money).inputs).toEqual({ a: '<$& $1 $`>' })
  })

  it('are bounded, however often a template repeats a large body', () => {
    const facts = { body: { text: 'x'.repeat(200_000) }, headers: {} }
    const inputs = { a: '{{ $.body.text }}', b: '{{ $.body.text }}' }
    expect(() => map({ inputs }, facts)).toThrow('larger than 256 KiB')
  })

  it('find nothing that JSON does not have', () => {
    const inputs = {
      a: '{{ $.body.constructor }}',
      b: '{{ $.body.__proto__ }}',
      c: '{{ $.body.commits.length }}',
      d: '{{ $.headers.toString }}',
    }
    expect(inputsOf(inputs)).toEqual({})
  })

  it.each(['__proto__', 'constructor'])('may be called %s without any effect', (name) => {
    const inputs = JSON.parse(`{"${name}": "{{ $.body.type }}"}`)
    expect(Object.entries(map({ inputs }).inputs ?? {})).toEqual([[name, 'push']])
    expect(Object.prototype).not.toHaveProperty('type')
  })
})

describe('a filter', () => {
  it.each([
    ["@.body.type == 'push'", true],
    ["@.headers['x-github-event'] == 'push' && @.body.size > 1", true],
    ["match(@.body.ref, 'refs/heads/(main|next)')", true],
    ["@.body.commits[?@.message == 'Add a moon']", true],
    ['@.body.forced', false],
    ["@.body.type == 'ping'", false],
    ['@.body.pusher.email', true],
  ])('%s lets a run start: %s', (filter, isWanted) => {
    expect(map({ filter, inputs: { a: 1 } }).inputs).toEqual(isWanted ? { a: 1 } : undefined)
  })

  it('that takes too long is ended, and says so', () => {
    const facts = { body: { text: `${'a'.repeat(40)}!` }, headers: {} }
    const filter = "match(@.body.text, '(a|a)*b')"
    expect(() => map({ filter }, facts)).toThrow('take longer than 500 ms')
  })
})

describe('a mapping', () => {
  it.each([
    [{ filter: 'a b' }, 'The filter cannot be read'],
    [{ filter: '@.a), ?(@.b' }, 'one condition'],
    [{ filter: '@.a)][?(@.b' }, 'one condition'],
    [{ deliveryPath: 'id' }, 'The path id cannot be read'],
    [{ inputs: { a: ['x {{ body.a }}'] } }, 'The path body.a cannot be read'],
    [{ inputs: { a: '{{ $.a[ }}' } }, 'The path $.a[ cannot be read'],
  ] as [Partial<Mapping>, string][])('is refused: %j', (mapping, why) => {
    const all = { filter: null, deliveryPath: null, inputs: {}, ...mapping }
    expect(mappingProblem(all)).toContain(why)
  })

  it('finds the id of a delivery', () => {
    expect(map({ deliveryPath: '$.body.commits[0].message' }).deliveryId).toBe('Fix the tide')
  })
})

it('quotes no half of a character in what is wrong with a mapping', () => {
  for (const filter of ['\u{10000}', '@.a == \u{1f600}']) {
    const problem = mappingProblem({ filter, deliveryPath: null, inputs: {} })
    expect(problem).toContain('cannot be read')
    expect(problem).not.toMatch(/\p{Cs}/u)
  }
})
