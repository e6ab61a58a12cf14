import { describe, expect, it } from 'vitest'
import { createDropGuard } from '../../../services/collector/store/spans/drop-guard.ts'
import { clockAt, silent } from './support/harness.ts'

const HOUR_MS = 3_600_000

const daysTo = (last: number) =>
  Array.from({ length: last + 1 }, (_, day) => ({ name: `day ${day}`, day }))

describe('the guard before expired days are dropped', () => {
  const createTimed = (isSkewed = false) => {
    const time = { ms: 0 }
    const clock = { ...clockAt(() => 0), isSkewed: () => isSkewed }
    const guard = createDropGuard({ clock, log: silent, elapsedMs: () => time.ms })
    return { time, guard, admitted: (last: number) => guard(daysTo(last)).length }
  }

  it('lets up to a week of days go at once', () => {
    const { admitted } = createTimed()
    expect(admitted(0)).toBe(1)
    expect(admitted(6)).toBe(7)
  })

  it('announces more, and lets them go an hour later', () => {
    const { time, admitted } = createTimed()
    expect(admitted(60)).toBe(0)
    time.ms += HOUR_MS / 2
    expect(admitted(60)).toBe(0)
    time.ms += HOUR_MS / 2
    expect(admitted(61)).toBe(62)
    expect(admitted(60)).toBe(0)
  })

  it('forgets what it announced once the days are no longer due', () => {
    const { time, admitted } = createTimed()
    expect(admitted(60)).toBe(0)
    expect(admitted(1)).toBe(2)
    time.ms += HOUR_MS
    expect(admitted(60)).toBe(0)
  })

  it('announces anew what was not due the first time', () => {
    const { time, admitted } = createTimed()
    expect(admitted(10)).toBe(0)
    time.ms += HOUR_MS
    expect(admitted(80)).toBe(11)
    time.ms += HOUR_MS
    expect(admitted(80)).toBe(81)
  })

  it('lets none go while the clocks disagree', () => {
    const { time, admitted } = createTimed(true)
    expect(admitted(0)).toBe(0)
    time.ms += 100 * HOUR_MS
    expect(admitted(60)).toBe(0)
  })
})
