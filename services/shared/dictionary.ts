import * as v from 'valibot'
import { isObject } from './is-object.ts'

type Text = v.GenericSchema<string, string>
type Dictionary<Key extends Text, Value extends v.GenericSchema> = v.RecordSchema<
  Key,
  Value,
  undefined
>

/**
 * Creates the schema of an object whose keys may be any text, and keeps all of them. `v.record`
 * leaves out `__proto__`, `prototype` and `constructor`, which are keys like others where a server
 * chooses them.
 */
export function dictionary<const Key extends Text, const Value extends v.GenericSchema>(
  key: Key,
  value: Value,
): Dictionary<Key, Value> {
  type Ran = ReturnType<Dictionary<Key, Value>['~run']>
  const record = v.record(key, value)
  return {
    ...record,
    '~run'(dataset, config) {
      const { value: input } = dataset
      if (!isObject(input)) return record['~run'](dataset, config)
      const read = Object.entries(input).map(([name, given]) => {
        const keyed = v.safeParse(key, name)
        const found = v.safeParse(value, given)
        const place = { type: 'object', origin: 'value', input, key: name, value: given } as const
        const issues = [...(keyed.issues ?? []), ...(found.issues ?? [])].map((issue) => ({
          ...issue,
          path: [place, ...(issue.path ?? [])],
        }))
        return { name, output: found.output, issues }
      })
      const issues = read.flatMap((each) => each.issues)
      const output = Object.fromEntries(read.map((each) => [each.name, each.output]))
      // Sound: the outputs are what the schema of the values returned, or there are issues.
      return (
        issues.length > 0
          ? { typed: false, value: input, issues }
          : { typed: true, value: output, issues: undefined }
      ) as Ran
    },
  }
}
