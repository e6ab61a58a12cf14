import type { KnowledgeTexts } from '../../platform/definitions/knowledge-texts.ts'
import { answer } from '../tools/tool.ts'
import type { CrewTool } from '../tools/tool.ts'
import { toPassages } from './passages.ts'
import { createSearch } from './search.ts'
import type { Search } from './search.ts'

/** Longer texts are searched, in characters. */
const SHOWN_CHARACTERS_MAX = 4096
/** The most that the prompt of one agent has of its texts. */
const PROMPT_CHARACTERS_MAX = 16_384
const FOUND_MAX = 10
const FOUND = 5
const QUERY_CHARACTERS_MAX = 500

/** What one agent knows. */
interface Knowledge {
  /** For its prompt; undefined: nothing. */
  readonly shown: string | undefined
  /** The names of the texts that are searched. */
  readonly searched: readonly string[]
}

/** Divides the texts of an agent into those that its prompt has, and those that it searches. */
export function divideKnowledge(texts: KnowledgeTexts, names: readonly string[] = []): Knowledge {
  const shown: string[] = []
  const searched: string[] = []
  let left = PROMPT_CHARACTERS_MAX
  for (const name of names) {
    const text = texts[name]?.text ?? ''
    if (text.length > SHOWN_CHARACTERS_MAX || text.length > left) searched.push(name)
    else {
      left -= text.length
      shown.push(`<knowledge name="${name}">\n${text}\n</knowledge>`)
    }
  }
  const about = `What you know, and may rely on:\n\n${shown.join('\n\n')}`
  return { shown: shown.length === 0 ? undefined : about, searched }
}

interface SearchedTexts {
  readonly texts: KnowledgeTexts
  readonly names: readonly string[]
}

/** Creates the tool by which an agent searches these texts. They are read at its first call. */
export function createKnowledgeSearch(name: string, { texts, names }: SearchedTexts): CrewTool {
  let search: Search | undefined
  const open = (): Search =>
    createSearch(names.flatMap((each) => toPassages(each, texts[each]?.text ?? '')))
  return {
    name,
    key: name,
    type: 'search_knowledge',
    description:
      'Searches texts that you know, by words as they are written in them, and returns the ' +
      `passages that fit best. The texts: ${names.join(', ')}.`,
    parameters: {
      type: 'object',
      properties: {
        query: {
          type: 'string',
          minLength: 1,
          maxLength: QUERY_CHARACTERS_MAX,
          description: 'Words that the passages should have',
        },
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: FOUND_MAX,
          description: `How many passages; ${FOUND} by default`,
        },
      },
      required: ['query'],
      additionalProperties: false,
    },
    timeoutMs: 5000,
    async call({ arguments: { query, limit = FOUND } }) {
      search ??= open()
      const found = search(String(query), Number(limit))
      if (found.length === 0) {
        return answer('No passage has any of these words. Try others that the texts may use.')
      }
      const passages = found.map(
        ({ passage: { source, offset, text } }) =>
          `<passage from="${source}" offset="${offset}">\n${text}\n</passage>`,
      )
      return answer(passages.join('\n\n'))
    },
  }
}
