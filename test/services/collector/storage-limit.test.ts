import { describe, expect, it } from 'vitest'
import { collectorEnv, storageLimit } from '../../../services/collector/env.ts'
import { readEnv } from '../../../services/shared/env.ts'

const limitOf = (settings: Readonly<Record<string, string>>): number | undefined =>
  storageLimit(readEnv(collectorEnv, { COLLECTOR_JWT_SECRET: 'x'.repeat(32), ...settings }))

describe('the bytes that traces may take', () => {
  it.each([
    ['20Gi', 10 * 2 ** 30],
    ['1.5Ti', 0.75 * 2 ** 40],
    ['30G', 15e9],
    ['4000000', 2_000_000],
  ])('are half of a volume of %s, which other databases share', (volume, expected) => {
    expect(limitOf({ COLLECTOR_VOLUME_SIZE: volume })).toBe(expected)
  })

  it('are what is said, whatever the volume', () => {
    const said = { COLLECTOR_VOLUME_SIZE: '20Gi', COLLECTOR_MAX_STORAGE_BYTES: '5000000000' }
    expect(limitOf(said)).toBe(5_000_000_000)
  })

  it('have no limit on a server that nobody described', () => {
    expect(limitOf({})).toBe(undefined)
  })

  it('are refused in words that are no amount', () => {
    expect(() => limitOf({ COLLECTOR_VOLUME_SIZE: '20 GB' })).toThrow('a quantity such as 20Gi')
  })
})
