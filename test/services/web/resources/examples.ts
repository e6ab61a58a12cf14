import type { Fields } from '../../../../services/web/resources/declaration.ts'

/** Returns the values that the fields of a resource have as examples. */
export const examplesOf = ({ fields }: { readonly fields: Fields }): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).map(([name, { look }]) => [name, look.example]))
