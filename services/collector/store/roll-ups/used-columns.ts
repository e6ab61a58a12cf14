import { createFieldList } from '../spans/field-list.ts'
import { createFieldWriter, NO_PREFIX, writeLength, writeTexts } from '../spans/field-writer.ts'
import type { FieldWriter } from '../spans/field-writer.ts'
import { COST_COLUMNS, measureOf, MEASURES, TOKEN_COLUMNS } from './measures.ts'
import { createUsageParts, HOUR_US, MAX_PARTS, unpackUsage } from './packed-usage.ts'
import type { UsageParts } from './packed-usage.ts'
import { MAX_NAMES } from './terms.ts'

const INT8_OID = 20
const TEXT_OID = 25
const TIMESTAMPTZ_OID = 1184
const NUMERIC_OID = 1700

/** The columns of `traces` that are of calls. */
export const USED_COLUMNS: readonly string[] = [
  ['llm_calls', ...TOKEN_COLUMNS, ...COST_COLUMNS, 'models', 'usage'],
].flat()

const COUNTS = ['calls', ...TOKEN_COLUMNS].map(measureOf)
const COSTS = COST_COLUMNS.map(measureOf)
const IS_COST = MEASURES.map(({ column }) => COST_COLUMNS.includes(column))
/** The attributes of `usage_part`. */
const ATTRIBUTES = ['hour', 'model'].length + MEASURES.length

/**
 * Writes the fields of `USED_COLUMNS` for COPY BINARY, of what `packUsage` has written. The number
 * of the type `usage_part` is in them.
 */
export function createUsedFields(usageType: number): (packed: Buffer) => Buffer {
  const usage = createUsageParts()
  const writer = createFieldWriter()
  let source: Buffer = NO_PREFIX
  const models = createFieldList({ bytes: () => source }, MAX_PARTS)
  return (packed) => {
    source = packed
    writer.begin(packed)
    unpackUsage(packed, usage)
    for (const one of COUNTS) writer.int8(totalOf(usage, one))
    for (const [nr, one] of COSTS.entries())
      writeCost(writer, (usage.knownCosts >> nr) & 1 ? totalOf(usage, one) : null)
    models.clear()
    for (let part = 0; part < usage.count; part++) {
      const size = usage.sizes[part] ?? 0
      if (size > 0) models.add(usage.begins[part] ?? 0, size)
    }
    const count = Math.min(models.count(), MAX_NAMES)
    writeTexts(writer, [{ prefix: NO_PREFIX, list: models, count }])
    writeParts(writer, usage, usageType)
    return Buffer.from(writer.written())
  }
}

function totalOf({ count, sums }: UsageParts, measure: number): number {
  let total = 0
  for (let part = 0; part < count; part++) total += sums[part * MEASURES.length + measure] ?? 0
  return total
}

function writeParts(writer: FieldWriter, usage: UsageParts, usageType: number): void {
  const lengthAt = writer.end()
  // One dimension, without nulls, from 1.
  for (const one of [0, 1, 0, usageType, usage.count, 1]) writer.int4(one)
  for (let part = 0; part < usage.count; part++) {
    const partAt = writer.end()
    writer.int4(0)
    writer.int4(ATTRIBUTES)
    writer.int4(TIMESTAMPTZ_OID)
    writer.int8((usage.hours[part] ?? 0) * HOUR_US)
    writer.int4(TEXT_OID)
    writer.copy(usage.begins[part] ?? 0, usage.sizes[part] ?? 0)
    for (let nr = 0; nr < MEASURES.length; nr++) {
      const sum = usage.sums[part * MEASURES.length + nr] ?? 0
      writer.int4(IS_COST[nr] ? NUMERIC_OID : INT8_OID)
      if (sum === 0) writer.int4(-1)
      else if (IS_COST[nr]) writeCost(writer, sum)
      else writer.int8(sum)
    }
    writeLength(writer, partAt)
  }
  writeLength(writer, lengthAt)
}

const DIGIT = 10_000
/** A safe integer has four digits to that base, of which three are behind the point. */
const DIGITS = 4
const DECIMALS = 12

/** Writes 1e-12 dollars as dollars, a numeric with twelve decimals. */
function writeCost(writer: FieldWriter, picodollars: number | null): void {
  if (picodollars === null) return writer.int4(-1)
  const digits = [0, 0, 0, 0]
  let rest = picodollars
  for (let place = DIGITS - 1; place >= 0; place--) {
    digits[place] = rest % DIGIT
    rest = Math.floor(rest / DIGIT)
  }
  let begin = 0
  let end = DIGITS
  while (begin < end && digits[begin] === 0) begin++
  while (end > begin && digits[end - 1] === 0) end--
  const sign = 0
  const weight = begin === end ? 0 : -begin
  writer.int4((DIGITS + end - begin) * 2)
  for (const one of [end - begin, weight, sign, DECIMALS]) writer.int2(one)
  for (let place = begin; place < end; place++) writer.int2(digits[place] ?? 0)
}
