/** What a kind is called, place by place. */
export interface Names {
  /** `static token` */
  readonly noun: string
  readonly plural: string
  /** `Static token` */
  readonly title: string
  readonly titles: string
  /** Its part of a path: `static-tokens` */
  readonly segment: string
  /** Its parameter of a path: `staticTokenId` */
  readonly parameter: string
  /** The name of its list in JSON: `static_tokens` */
  readonly list: string
  /** The name of its schema: `StaticToken` */
  readonly type: string
  /** What notices begin with: `static-token` */
  readonly notice: string
}

const ACRONYMS: ReadonlyMap<string, string> = new Map([
  ['llm', 'LLM'],
  ['oauth', 'OAuth'],
])

/** Returns the names of a kind, such as `static_token`. */
export function namesOf(kind: string): Names {
  const words = kind.split('_')
  const noun = words.map((word) => ACRONYMS.get(word) ?? word).join(' ')
  const notice = words.join('-')
  const type = words.map(capital).join('')
  return {
    noun,
    plural: `${noun}s`,
    title: capital(noun),
    titles: `${capital(noun)}s`,
    segment: `${notice}s`,
    parameter: `${type.charAt(0).toLowerCase()}${type.slice(1)}Id`,
    list: `${kind}s`,
    type,
    notice,
  }
}

const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1)
