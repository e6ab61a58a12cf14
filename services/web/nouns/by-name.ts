import { pickOf } from '../api/openapi/parts.ts'
import type { Camel, RowOf } from '../api/openapi/parts.ts'
import type { Fact, Fields, Values } from '../resources/declaration.ts'

/** Returns facts that a row has by the same names in camelCase. */
export const factsByName = <Of extends Readonly<Record<string, object>>>(
  properties: Of,
): Readonly<Record<string, Fact<RowOf<Of>>>> => {
  const pick: (row: RowOf<Of>) => Readonly<Record<string, unknown>> = pickOf(properties)
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, [schema, (row) => pick(row)[name]]]),
  )
}

/** What values are read of by their names: in camelCase, and lists may be read-only. */
type CamelCased<Of> = {
  readonly [
    Name in keyof Of as Name extends string ? Camel<Name> : never
  ]: Of[Name] extends (infer Item)[] ? readonly Item[] : Of[Name]
}

/** Returns what reads the values of fields that a row has by the same names in camelCase. */
export const valuesByName = <Of extends Fields>(fields: Of) =>
  // The values are those of the fields, which the compiler does not follow.
  pickOf(fields) as unknown as (given: CamelCased<Values<Of>>) => Values<Of>
