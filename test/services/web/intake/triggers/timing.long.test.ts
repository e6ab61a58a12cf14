import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { pauseTrigger } from '../../../../../services/platform/triggers/triggers.ts'
import { openPlatform } from '../../support/platform.ts'
import type { Platform } from '../../support/platform.ts'
import { makeTrigger, postTo, rotate, standardHeaders } from './senders.ts'

const ROUNDS = 1000
/** A part of the slowest: collections of garbage, and what else runs on the machine. */
const KEPT = 0.7
/** Of the time that a refusal takes; a hundred times less than what a network adds. */
const DIFFERENCE_MAX = 0.05
const BODY = '{"topic":"x"}'

let platform: Platform

beforeAll(async () => {
  platform = await openPlatform()
})
afterAll(() => platform.close())

/** The mean of the fastest. */
function trimmedMean(values: readonly number[]): number {
  const kept = values.toSorted((a, b) => a - b).slice(0, Math.floor(values.length * KEPT))
  return kept.reduce((sum, value) => sum + value, 0) / kept.length
}

it('a refused delivery takes as long, whatever is wrong, or there is no trigger', async () => {
  const open = await makeTrigger(platform)
  const rotated = await rotate(platform, await makeTrigger(platform))
  const paused = await makeTrigger(platform)
  await pauseTrigger(platform.sql, paused.trigger.id)
  const good = standardHeaders(open.secret, BODY)
  const signature = good['webhook-signature']
  const last = signature.at(-2) === 'A' ? 'E' : 'A'
  const signedWith = (value: string) => ({ ...good, 'webhook-signature': value })
  const forged = standardHeaders(`whsec_${'A'.repeat(43)}=`, BODY)
  const kinds: readonly (readonly [string, () => string, Record<string, string>])[] = [
    ['no trigger', () => randomUUID(), forged],
    ['another secret', () => open.trigger.id, forged],
    [
      'right but for its first byte',
      () => open.trigger.id,
      signedWith(`v1,0${signature.slice(4)}`),
    ],
    [
      'right but for its last byte',
      () => open.trigger.id,
      signedWith(`${signature.slice(0, -2)}${last}=`),
    ],
    ['two secrets', () => rotated.trigger.id, forged],
    ['a paused trigger', () => paused.trigger.id, forged],
  ]
  // Each call is that of another address, which has refused none.
  const { app } = { app: platform.appAt('http://platform.test', { TRUSTED_PROXIES: '1' }) }
  const times = kinds.map((): number[] => [])
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const at of kinds.keys()) {
      // Another one is first each time.
      const which = (at + round) % kinds.length
      const [, id, headers] = kinds[which] ?? ['', () => '', {}]
      const from = `10.${round >> 8}.${round & 255}.${which + 1}`
      const call = { headers: { ...headers, 'x-forwarded-for': from }, body: BODY }
      const target = id()
      const started = performance.now()
      const response = await postTo({ app }, target, call)
      times[which]?.push(performance.now() - started)
      expect(response.status).toBe(404)
      await response.body?.cancel()
    }
  }
  const means = times.map((each) => trimmedMean(each.slice(ROUNDS / 10)))
  const usual = trimmedMean(means)
  const differences = means.map((mean, at) => [kinds[at]?.[0], mean / usual - 1] as const)
  console.log(
    `a refusal takes ${usual.toFixed(3)} ms; ` +
      differences.map(([kind, by]) => `${kind} ${(by * 100).toFixed(1)} %`).join(', '),
  )
  const [least, most] = [Math.min(...means), Math.max(...means)]
  expect((most - least) / usual, JSON.stringify(differences)).toBeLessThan(DIFFERENCE_MAX)
}, 600_000)
