import type { Fields } from '../../../../services/web/resources/declaration.ts'
import { readObject } from '../support/platform.ts'

/** Returns the values that the fields of a resource have as examples. */
export const examplesOf = ({ fields }: { readonly fields: Fields }): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).map(([name, { look }]) => [name, look.example]))

/** Returns the row that such values created; raises an error that says why they did not. */
export async function readCreated(
  path: string,
  answer: Response,
): Promise<Record<string, unknown>> {
  const row = await readObject(answer)
  if (answer.status === 201) return row
  throw new Error(
    `The examples of its fields create no row at ${path}: ${String(row['message'])} Each field ` +
      'that is required needs an example.',
  )
}
