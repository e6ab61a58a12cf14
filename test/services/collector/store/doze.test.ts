import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createDoze } from '../../../../services/collector/store/take-turns.ts'
import { createBell } from '../../../../services/shared/bell.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function open() {
  const bell = createBell()
  const stopping = new AbortController()
  const doze = createDoze(bell, stopping.signal)
  async function waited(isIdle = true): Promise<number> {
    const started = performance.now()
    const ended = doze(isIdle)
    await vi.advanceTimersToNextTimerAsync()
    await ended
    return performance.now() - started
  }
  return { bell, stopping, waited }
}

describe('a collector to which nothing comes', () => {
  it('looks less and less often, but at least each ten seconds', async () => {
    const { waited } = open()
    const waits: number[] = []
    for (let time = 0; time < 8; time += 1) waits.push(await waited())
    expect(waits).toEqual([250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000])
  })

  it('looks at once when something was committed, then often for a while', async () => {
    const { bell, waited } = open()
    await waited()
    await waited()
    bell.ring()
    expect(await waited()).toBe(0)
    expect(await waited()).toBe(250)
    setTimeout(bell.ring, 300)
    expect(await waited()).toBe(300)
    expect(await waited()).toBe(250)
  })

  it('waits for nothing while there is something to do, or once it stops', async () => {
    const { stopping, waited } = open()
    await waited()
    expect(await waited(false)).toBe(0)
    expect(await waited()).toBe(250)
    stopping.abort()
    expect(await waited()).toBe(0)
  })
})
