import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { nextStanding } from '../../../../services/platform/alerts/next-standing.ts'
import type { Standing } from '../../../../services/platform/alerts/next-standing.ts'

const rule = {
  watches: 'failure_share',
  threshold: 50,
  resolvesBelow: 20,
  forMinutes: 5,
  minimum: 10,
} as const
const START: Standing = { state: 'ok', breachedSince: null }
const NOON = Date.parse('2026-06-01T12:00:00Z')

type Step = readonly [minute: number, value: number | null, samples?: number]

/** Returns the state after each look. */
function watch(steps: readonly Step[], of: Parameters<typeof nextStanding>[0] = rule): string[] {
  let standing = START
  return steps.map(([minute, value, samples = 10]) => {
    const at = new Date(NOON + minute * 60_000)
    standing = nextStanding(of, standing, { value, samples, at })
    return standing.state
  })
}

describe('the state of an alert', () => {
  it.each<[string, Step[], string]>([
    [
      'fires once the value has been there for long enough',
      [
        [0, 50],
        [4, 90],
        [5, 50],
      ],
      'ok ok firing',
    ],
    [
      'begins anew when the value was lower meanwhile',
      [
        [0, 50],
        [4, 49],
        [5, 50],
        [9, 50],
      ],
      'ok ok ok ok',
    ],
    [
      'is resolved below the lower threshold alone',
      [
        [0, 50],
        [5, 50],
        [6, 20],
        [7, 49],
        [8, 19.9],
      ],
      'ok firing firing firing ok',
    ],
    [
      'says nothing with too few runs',
      [
        [0, 99],
        [5, 99, 9],
        [6, 99],
      ],
      'ok ok ok',
    ],
    [
      'stays as it is with too few runs',
      [
        [0, 50],
        [5, 50],
        [6, 0, 9],
      ],
      'ok firing firing',
    ],
    [
      'is resolved when there are none at all',
      [
        [0, 50],
        [5, 50],
        [6, null, 0],
      ],
      'ok firing ok',
    ],
    [
      'waits anew after the clock went back',
      [
        [0, 50],
        [-60, 50],
        [-56, 50],
        [-55, 50],
      ],
      'ok ok ok firing',
    ],
  ])('%s', (_, steps, states) => {
    expect(watch(steps).join(' ')).toBe(states)
  })

  it('needs no minimum where it is not of runs', () => {
    expect(watch([[0, 50, 0]], { ...rule, watches: 'approvals_waiting', forMinutes: 0 })).toEqual([
      'firing',
    ])
  })

  it('changes at a threshold alone, whatever values come', () => {
    const steps = fc.array(
      fc.tuple(fc.nat(1000), fc.option(fc.integer({ min: 0, max: 100 })), fc.nat(20)),
    )
    fc.assert(
      fc.property(steps, (given) => {
        let before = 'ok'
        for (const [index, state] of watch(given).entries()) {
          const [, value, samples] = given[index] ?? [0, null, 0]
          const isEnough = value !== null && samples >= rule.minimum
          if (state === 'firing' && before === 'ok') expect(isEnough && value >= 50).toBe(true)
          if (state === 'ok' && before === 'firing') {
            expect(value === null || (isEnough && value < 20)).toBe(true)
          }
          before = state
        }
      }),
    )
  })
})
