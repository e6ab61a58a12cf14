import { manyOf } from '../console/frame/format.ts'
import type { End } from './declaration.ts'

const ACRONYMS: ReadonlyMap<string, string> = new Map([
  ['llm', 'LLM'],
  ['oauth', 'OAuth'],
])

/** Returns what a kind, such as `static_token`, is called, place by place. */
export function namesOf(kind: string) {
  const words = kind.split('_')
  // static token
  const noun = words.map((word) => ACRONYMS.get(word) ?? word).join(' ')
  // static-token: notices begin so.
  const notice = words.join('-')
  // StaticToken: its schema.
  const type = words.map(capital).join('')
  return {
    noun,
    plural: manyOf(noun),
    title: capital(noun),
    titles: capital(manyOf(noun)),
    notice,
    type,
    // static-tokens, in a path, where one is staticTokenId
    segment: manyOf(notice),
    parameter: `${type.charAt(0).toLowerCase()}${type.slice(1)}Id`,
    // static_tokens, in JSON
    list: manyOf(kind),
  }
}

/** Returns what deleting a row is called. */
export const endOf = ({ words: { end } }: { readonly words: { readonly end?: End } }): End =>
  end ?? ['Delete', 'deleted']

const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1)
