import type { JsonObject } from './json.ts'

/** A statement about one member of a map. */
type MemberTest =
  | { readonly member: string; readonly is: 'there' | 'absent or empty' | 'not empty' | 'one' }
  | { readonly member: string; readonly among: readonly string[]; readonly orAbsent?: true }

/** A dependence between members of one map: where the first holds, the second must. */
export interface ItemRule {
  readonly where: MemberTest
  readonly needs: MemberTest
  /** Why, completing the path of the member that is needed. */
  readonly message: string
}

type Members = Readonly<Record<string, unknown>>

/** Tells whether the members of a map break a rule. */
export const isViolated = ({ where, needs }: ItemRule, item: Members): boolean =>
  holds(where, item) && !holds(needs, item)

function holds(test: MemberTest, item: Members): boolean {
  const value = item[test.member]
  if ('among' in test) {
    return value === undefined ? test.orAbsent === true : test.among.some((word) => word === value)
  }
  if (test.is === 'there') return value !== undefined
  if (test.is === 'one') return Array.isArray(value) && value.length === 1
  const isEmpty =
    value === undefined || value === '' || (Array.isArray(value) && value.length === 0)
  return isEmpty === (test.is === 'absent or empty')
}

/** A rule as JSON Schema has it. */
export const implication = ({ where, needs }: ItemRule): JsonObject => ({
  if: memberSchema(where),
  // oxlint-disable-next-line unicorn/no-thenable -- JSON Schema calls it so
  then: memberSchema(needs),
})

function memberSchema(test: MemberTest): JsonObject {
  const { member } = test
  if ('among' in test) {
    const properties = { [member]: { enum: test.among } }
    return test.orAbsent ? { properties } : { properties, required: [member] }
  }
  if (test.is === 'there') return { required: [member] }
  if (test.is === 'one')
    return { properties: { [member]: { minItems: 1, maxItems: 1 } }, required: [member] }
  return test.is === 'absent or empty'
    ? { properties: { [member]: { maxLength: 0, maxItems: 0 } } }
    : { properties: { [member]: { minLength: 1, minItems: 1 } }, required: [member] }
}
