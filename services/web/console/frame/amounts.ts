import { duration } from './format.ts'

/** Returns nanoseconds in the unit that fits: `820 ns`, `41.5 µs`, `12.3 ms`, `4.2 s`. */
export function nsText(ns: number): string {
  if (ns < 1000) return `${Math.round(ns)} ns`
  if (ns < 1e6) return `${decimal(ns / 1000)} µs`
  if (ns < 1e9) return `${decimal(ns / 1e6)} ms`
  return duration(ns / 1e6)
}

const decimal = (number: number): string => (number < 100 ? number.toFixed(1) : number.toFixed(0))

/** Returns an amount of US dollars; small ones with the digits that matter. */
export const dollars = (amount: number): string =>
  amount >= 0.01 || amount === 0 ? `$${amount.toFixed(2)}` : `$${amount.toPrecision(2)}`
