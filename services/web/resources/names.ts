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
    plural: `${noun}s`,
    title: capital(noun),
    titles: `${capital(noun)}s`,
    notice,
    type,
    // static-tokens, in a path, where one is staticTokenId
    segment: `${notice}s`,
    parameter: `${type.charAt(0).toLowerCase()}${type.slice(1)}Id`,
    // static_tokens, in JSON
    list: `${kind}s`,
  }
}

/** Returns what deleting a row is called. */
export const endOf = ({ words: { end } }: { readonly words: { readonly end?: End } }): End =>
  end ?? ['Delete', 'deleted']

const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1)
