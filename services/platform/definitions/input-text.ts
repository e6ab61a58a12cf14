import { isObject } from '../../shared/is-object.ts'

/** The text of an input: itself, or its JSON, which is the same for each order of members. */
export const inputText = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value, inOrder)

const inOrder = (_: string, value: unknown): unknown =>
  isObject(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
    : value
