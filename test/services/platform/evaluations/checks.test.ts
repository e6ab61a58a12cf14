import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { checks, makeCheck, stateOf } from '../../../../services/platform/evaluations/checks.ts'
import type { Check, Finding, Judge } from '../../../../services/platform/evaluations/checks.ts'
import { judgeInputs, sumUp } from '../../../../services/platform/evaluations/judge-crew.ts'

const made = { output: ' {"score": 7} ', tools: ['docs'], tokens: 100, usd: 0.02, seconds: 3 }
const HOSTILE = `${'a'.repeat(40)}!`

type Plain = Exclude<Check, Judge>

const state = (check: Plain, expected: string | null = null, more: object = {}) =>
  makeCheck(check, expected, { ...made, ...more }).state

describe('a check', () => {
  it.each<[Plain, string | null, Finding['state']]>([
    [{ type: 'equal' }, '{"score": 7}', 'passed'],
    [{ type: 'equal' }, '{"score": 8}', 'failed'],
    [{ type: 'equal' }, null, 'skipped'],
    [{ type: 'contains' }, 'score', 'passed'],
    [{ type: 'contains', text: 'absent' }, 'score', 'failed'],
    [{ type: 'contains' }, null, 'skipped'],
    [{ type: 'pattern', pattern: '"score": \\d' }, null, 'passed'],
    [{ type: 'pattern', pattern: '^\\d' }, null, 'failed'],
    [{ type: 'schema', schema: { type: 'object', required: ['score'] } }, null, 'passed'],
    [{ type: 'schema', schema: { type: 'array' } }, null, 'failed'],
    [{ type: 'expression', expression: '@.json.score > 5' }, null, 'passed'],
    [{ type: 'expression', expression: '@.words > 5' }, null, 'failed'],
    [{ type: 'tool_called', tool: 'docs' }, null, 'passed'],
    [{ type: 'tool_called', tool: 'mail' }, null, 'failed'],
    [{ type: 'tool_not_called', tool: 'mail' }, null, 'passed'],
    [{ type: 'tool_not_called', tool: 'docs' }, null, 'failed'],
    [{ type: 'at_most', tokens: 100, usd: 0.02, seconds: 3 }, null, 'passed'],
    [{ type: 'at_most', tokens: 99 }, null, 'failed'],
    [{ type: 'at_most', usd: 0.01 }, null, 'failed'],
    [{ type: 'at_most', seconds: 1 }, null, 'failed'],
  ])('%j of a case that expects %j is %s', (check, expected, wanted) => {
    expect(state(check, expected)).toBe(wanted)
  })

  it('is an error where nothing can be said', () => {
    expect(state({ type: 'at_most', usd: 1 }, null, { usd: null })).toBe('error')
    expect(state({ type: 'pattern', pattern: '^(a+)+$' }, null, { output: HOSTILE })).toBe('error')
  })

  it('is of a list that is bounded, and says what is wrong with it', () => {
    const read = (given: unknown) => v.safeParse(checks, given)
    expect(
      read([{ type: 'equal' }, { type: 'judge', model: 'm', rubric: 'Be kind.' }]).output,
    ).toMatchObject([{ type: 'equal' }, { times: 1 }])
    const wrong: readonly (readonly [unknown, string])[] = [
      [{}, 'list'],
      [Array.from({ length: 21 }, () => ({ type: 'equal' })), 'at most 20 checks'],
      [[{ type: 'odd' }], 'must be one of equal'],
      [[{ type: 'pattern', pattern: '(' }], 'regular expression'],
      [[{ type: 'expression', expression: '@.(' }], 'cannot be read'],
      [[{ type: 'at_most' }], 'must have usd'],
      [[{ type: 'judge', model: 'm', rubric: 'x', times: 2 }], 'must be one of 1, 3'],
      [[{ type: 'equal', more: 1 }], 'not known'],
    ]
    for (const [given, why] of wrong) {
      const { issues = [] } = read(given)
      expect(issues.map(({ message }) => message).join()).toContain(why)
    }
  })
})

describe('a judge', () => {
  const says = (passed: unknown, reason = 'Because.') => ({
    output: JSON.stringify({ passed, reason }),
  })

  it('passes what most of its answers pass', () => {
    expect(sumUp([says(true)])).toMatchObject({ state: 'passed', reason: 'Because.', prompt: 1 })
    expect(sumUp([says(true), says(false, 'No.'), says(false)])).toMatchObject({
      state: 'failed',
      reason: 'No. (1 of 3 answers pass it)',
    })
  })

  it.each([
    [{ output: 'Yes, it passes!' }],
    [{ output: '{"passed":"true","reason":""}' }],
    [{ output: '{"passed":true}' }],
    [{ output: '{"passed":true,"reason":"","more":1}' }],
    [{ problem: 'The model does not answer.' }],
    [{}],
  ])('that answers nonsense is an error, and never a pass: %j', (answer) => {
    expect(sumUp([says(true), answer, says(true)]).state).toBe('error')
  })

  it('judges nothing that is too long', () => {
    const judge = { type: 'judge', model: 'm', rubric: 'x', times: 1 } as const
    const given = { inputs: {}, expected: null, output: 'x' }
    expect(judgeInputs(judge, given)).toMatchObject({ rubric: 'x', expected: '(none)' })
    expect(judgeInputs(judge, { ...given, output: 'x'.repeat(200_001) })).toBeUndefined()
  })
})

describe('the state of a case', () => {
  const finding = (found: Finding['state']): Finding => ({ type: 'equal', state: found })

  it.each<[readonly Finding['state'][], string]>([
    [[], 'passed'],
    [['passed', 'skipped'], 'passed'],
    [['passed', 'failed', 'error'], 'failed'],
    [['passed', 'error'], 'error'],
    [['skipped'], 'error'],
  ])('of %j is %s', (found, wanted) => {
    expect(stateOf(found.map(finding)).state).toBe(wanted)
  })
})
