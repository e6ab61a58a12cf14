import fc from 'fast-check'
import * as v from 'valibot'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checks } from '../../../../services/platform/evaluations/checks.ts'
import { checkRows } from '../../../../services/web/nouns/checks-control.ts'
import { readForm, typedOf } from '../../../../services/web/resources/values.ts'
import { field } from '../../../../services/web/resources/declaration.ts'
import { fieldsOf } from '../support/form-fields.ts'
import { askAs } from '../support/forms.ts'
import { openPlatform } from '../support/platform.ts'
import type { Platform } from '../support/platform.ts'

const text = fc
  .string({ unit: fc.constantFrom('a', '"', '<', '&', ' ', '\n', 'é', '.'), maxLength: 20 })
  .map((each) => `x${each}`)
const line = text.map((each) => each.replaceAll('\n', ' '))
const amount = fc.integer({ min: 1, max: 1e6 })
const check = fc.oneof(
  fc.record({ type: fc.constantFrom('equal', 'person') }),
  fc.record({ type: fc.constant('contains'), text }, { requiredKeys: ['type'] }),
  fc.record({ type: fc.constant('pattern'), pattern: fc.constantFrom('^a|"<b>"$', ' +') }),
  fc.record({ type: fc.constant('expression'), expression: fc.constant('@.a < "<b>"') }),
  fc.record({ type: fc.constant('schema'), schema: fc.constant({ type: 'object', title: '<' }) }),
  fc.record({ type: fc.constantFrom('tool_called', 'tool_not_called'), tool: line }),
  fc
    .record(
      { type: fc.constant('at_most'), usd: amount.map((each) => each / 8), tokens: amount },
      { requiredKeys: ['type'] },
    )
    .map((each) => (Object.keys(each).length > 1 ? each : { ...each, seconds: 0.5 })),
  fc.record({
    type: fc.constant('judge'),
    model: line,
    rubric: text,
    times: fc.constantFrom(1, 3),
  }),
)

describe('the form of checks', () => {
  const fields = { checks: field(checks, { label: 'Checks', control: checkRows }) }
  const shown = (given: readonly object[]): string => {
    const typed = typedOf(fields, { checks: given })
    return [checkRows.render({ name: 'checks', label: 'Checks' }, typed)].map(String).join('')
  }

  it('sends what it shows, for checks of every type', () => {
    fc.assert(
      fc.property(fc.array(check, { maxLength: 5 }), (given) => {
        expect(readForm({ fields }, fieldsOf(shown(given)))).toEqual({
          checks: v.parse(checks, given),
        })
      }),
      { numRuns: 60 },
    )
  })

  it('shows rows for more, until there are as many as a set may have', () => {
    const rows = (length: number): number => {
      const page = shown(Array.from({ length }, () => ({ type: 'equal' })))
      return page.split('role="group"').length - 1
    }
    expect([0, 3, 20].map(rows)).toEqual([4, 7, 20])
  })
})

describe('checks that are typed on a page', () => {
  let platform: Platform
  let ada: ReturnType<typeof askAs>
  let sets: string

  beforeAll(async () => {
    platform = await openPlatform()
    ada = askAs(platform.app, await platform.signIn(platform.acme))
    sets = `/automations/${platform.acme.research.automationId}/case-sets`
  })

  afterAll(() => platform.close())

  it('are saved without a script, and shown again', async () => {
    const response = await ada.post(sets, {
      name: 'By hand',
      'checks.0.type': 'contains',
      'checks.0.text': 'two\r\nlines',
      'checks.0.usd': 'of another type',
      'checks.2.type': 'at_most',
      'checks.2.usd': '0.25',
      'checks.2.tokens': '',
    })
    expect(response.status).toBe(303)
    const [{ given }] = await platform.sql<[{ given: unknown }]>`
      select checks as given from case_sets where name = 'By hand'`
    expect(given).toEqual([
      { type: 'contains', text: 'two\nlines' },
      { type: 'at_most', usd: 0.25 },
    ])
    const page = await (await ada.get(response.headers.get('location') ?? '')).text()
    expect(page).toMatch(/<option value="at_most" selected>/)
    expect(page).toMatch(/name="checks\.1\.usd"\s+value="0\.25"/)
  })

  it.each([
    [{ type: 'judge', model: 'm' }, /rubric/],
    [{ type: 'judge', model: 'm', rubric: 'r', times: 'two' }, /times must be one of 1, 3/],
    [{ type: 'pattern', pattern: '(' }, /pattern must be a regular expression/],
    [{ type: 'schema', schema: '{"a": 1, "a": 2}' }, /schema/],
    [{ type: 'at_most', usd: '1e400' }, /usd must be a number/],
    [{ type: '__proto__' }, /must be one of equal/],
    [{ type: 'contains', text: 'a\0b' }, /Checks must have no control characters/],
  ])('are refused with what was typed, such as %j', async (given, problem) => {
    const typed = Object.entries(given).map(([part, value]) => [`checks.0.${part}`, value])
    const response = await ada.post(sets, { name: 'Wrong', ...Object.fromEntries(typed) })
    expect(response.status).toBe(422)
    const page = await response.text()
    expect(page).toMatch(problem)
    expect(fieldsOf(page).get('name')).toBe('Wrong')
  })
})
