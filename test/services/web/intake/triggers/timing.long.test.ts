import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { pauseTrigger } from '../../../../../services/platform/triggers/triggers.ts'
import { openPlatform } from '../../support/platform.ts'
import type { Platform } from '../../support/platform.ts'
import { makeTrigger, postTo, rotate, standardHeaders } from './senders.ts'

const ROUNDS = 1000
/** The slower ones say more of what else runs on the machine. */
const KEPT = 0.3
/** Of the time that a refusal takes; a hundred times less than what a network adds. */
const DIFFERENCE_MAX = 0.05
/** How often the kinds are mixed, to see how far apart the same would be by chance. */
const SHUFFLES = 500
const BODY = '{"topic":"x"}'

let platform: Platform

beforeAll(async () => {
  platform = await openPlatform()
})
afterAll(() => platform.close())

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length

const meanOfFastest = (values: readonly number[]): number =>
  mean(values.toSorted((a, b) => a - b).slice(0, Math.floor(values.length * KEPT)))

/** Returns the means of each kind; each round has one time of each. */
const meansOf = (rounds: readonly (readonly number[])[]): number[] =>
  (rounds[0] ?? []).map((_, kind) => meanOfFastest(rounds.map((round) => round[kind] ?? 0)))

const spreadOf = (means: readonly number[]): number => Math.max(...means) - Math.min(...means)

/** Returns how far apart kinds are, of which only chance says which is which. */
function spreadByChance(rounds: readonly (readonly number[])[]): number {
  const spreads = Array.from({ length: SHUFFLES }, () => {
    const mixed = rounds.map((round) => {
      const keys = round.map((time) => [Math.random(), time] as const)
      return keys.toSorted(([one], [other]) => one - other).map(([, time]) => time)
    })
    return spreadOf(meansOf(mixed))
  })
  return Math.max(...spreads)
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
  const rounds: number[][] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    const times: number[] = []
    for (const at of kinds.keys()) {
      // Another one is first each time.
      const which = (at + round) % kinds.length
      const [, id, headers] = kinds[which] ?? ['', () => '', {}]
      const from = `10.${round >> 8}.${round & 255}.${which + 1}`
      const call = { headers: { ...headers, 'x-forwarded-for': from }, body: BODY }
      const target = id()
      const started = performance.now()
      const response = await postTo({ app }, target, call)
      times[which] = performance.now() - started
      expect(response.status).toBe(404)
      await response.body?.cancel()
    }
    rounds.push(times)
  }
  const measured = rounds.slice(ROUNDS / 10)
  const means = meansOf(measured)
  const usual = mean(means)
  const chance = spreadByChance(measured) / usual
  const differences = means.map((each, at) => [kinds[at]?.[0], each / usual - 1] as const)
  const percent = (part: number): string => `${(part * 100).toFixed(1)} %`
  console.log(
    `a refusal takes ${usual.toFixed(3)} ms; by chance they are ${percent(chance)} apart; ` +
      differences.map(([kind, by]) => `${kind} ${percent(by)}`).join(', '),
  )
  const allowed = Math.max(DIFFERENCE_MAX, chance)
  expect(spreadOf(means) / usual, JSON.stringify(differences)).toBeLessThan(allowed)
}, 600_000)
