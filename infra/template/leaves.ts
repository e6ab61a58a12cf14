import type { Field, LeafField, Shape } from './schema.ts'

/** A leaf of the declaration, with its full path. */
interface Leaf {
  readonly path: string
  readonly field: LeafField
}

/** Every key that holds a value, in order. */
export function leavesOf(shape: Shape, prefix = ''): readonly Leaf[] {
  return Object.entries(shape).flatMap(([key, field]) =>
    field.kind === 'group'
      ? leavesOf(field.shape, `${prefix}${key}.`)
      : [{ path: `${prefix}${key}`, field }],
  )
}

/** Tells whether there may be no value of a field. */
export const isOptional = (field: Field): boolean =>
  field.isNullable === true || (field.kind === 'quantity' && field.optional)
