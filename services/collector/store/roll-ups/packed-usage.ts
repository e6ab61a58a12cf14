import type { FieldWriter } from '../spans/field-writer.ts'
import { MEASURES } from './measures.ts'

/** A trace with more models and hours is left to the leader. */
export const MAX_PARTS = 50

/** The microseconds of a part's hour. */
export const HOUR_US = 3_600_000_000

const LOW_BITS = 0x7f

/** What the calls of a trace add up to, in parts, each of an hour and a model. */
export interface UsageParts {
  count: number
  /** Since 2000. */
  readonly hours: Float64Array
  /** Where the names of the models begin in the bytes that they were read from. */
  readonly begins: Uint32Array
  readonly sizes: Int32Array
  /** For each part those of `MEASURES`; costs are in 1e-12 dollars. */
  readonly sums: Float64Array
  /** Bits: whether any call has the cost at a place in `COST_COLUMNS`. */
  knownCosts: number
}

/** Room for the parts of one trace after the other. */
export const createUsageParts = (): UsageParts => ({
  count: 0,
  hours: new Float64Array(MAX_PARTS),
  begins: new Uint32Array(MAX_PARTS),
  sizes: new Int32Array(MAX_PARTS),
  sums: new Float64Array(MAX_PARTS * MEASURES.length),
  knownCosts: 0,
})

/**
 * Writes the parts, sorted by their hours and by the bytes of their models: whole numbers, and of
 * the sums those that are more than 0.
 */
export function packUsage(writer: FieldWriter, usage: UsageParts, bytes: Buffer): void {
  writeVarint(writer, usage.knownCosts)
  writeVarint(writer, usage.count)
  for (const part of sortParts(usage, bytes)) {
    const size = usage.sizes[part] ?? 0
    writeVarint(writer, usage.hours[part] ?? 0)
    writeVarint(writer, size)
    writer.raw(usage.begins[part] ?? 0, size)
    const begin = part * MEASURES.length
    let bits = 0
    for (let nr = 0; nr < MEASURES.length; nr++) if (usage.sums[begin + nr] !== 0) bits |= 1 << nr
    writeVarint(writer, bits)
    for (let nr = 0; nr < MEASURES.length; nr++) {
      const sum = usage.sums[begin + nr] ?? 0
      if (sum !== 0) writeVarint(writer, sum)
    }
  }
}

/** A whole number from 0 on, of seven bits a byte, the lowest first. */
function writeVarint(writer: FieldWriter, value: number): void {
  let rest = value
  for (; rest > LOW_BITS; rest = Math.floor(rest / (LOW_BITS + 1)))
    writer.byte((rest % (LOW_BITS + 1)) + LOW_BITS + 1)
  writer.byte(rest)
}

function sortParts({ count, hours, begins, sizes }: UsageParts, bytes: Buffer): number[] {
  const endOf = (part: number): number => (begins[part] ?? 0) + (sizes[part] ?? 0)
  const parts: number[] = []
  for (let part = 0; part < count; part++) parts.push(part)
  return parts.sort(
    (one, other) =>
      (hours[one] ?? 0) - (hours[other] ?? 0) ||
      bytes.compare(bytes, begins[other], endOf(other), begins[one], endOf(one)),
  )
}

/** Reads what was written there. */
export function unpackUsage(packed: Buffer, usage: UsageParts): void {
  let at = 0
  const varint = (): number => {
    let value = 0
    let unit = 1
    for (;;) {
      const byte = packed[at++] ?? 0
      value += (byte & LOW_BITS) * unit
      if (byte <= LOW_BITS) return value
      unit *= LOW_BITS + 1
    }
  }
  usage.knownCosts = varint()
  usage.count = varint()
  for (let part = 0; part < usage.count; part++) {
    usage.hours[part] = varint()
    const size = varint()
    usage.begins[part] = at
    usage.sizes[part] = size
    at += size
    const bits = varint()
    const begin = part * MEASURES.length
    for (let nr = 0; nr < MEASURES.length; nr++)
      usage.sums[begin + nr] = (bits >>> nr) & 1 ? varint() : 0
  }
}
