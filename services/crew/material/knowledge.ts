import type { KnowledgeText, KnowledgeTexts } from '../../platform/definitions/knowledge-texts.ts'
import { answer } from '../tools/tool.ts'
import type { CrewTool } from '../tools/tool.ts'
import { toPassages } from './passages.ts'
import type { Passage } from './passages.ts'
import { namesOf, READ_CHARACTERS, readPart, textOf } from './read-file.ts'
import { createSearch } from './search.ts'
import type { Search } from './search.ts'

/** Longer texts are searched, in characters. */
const SHOWN_CHARACTERS_MAX = 4096
/** The most that the prompt of one agent has of its texts. */
const PROMPT_CHARACTERS_MAX = 16_384
const FOUND_MAX = 10
const FOUND = 5
const QUERY_CHARACTERS_MAX = 500
/** So far before a passage its page is looked for. */
const PAGE_CHARACTERS_MAX = 100_000

/** What one agent knows. */
interface Knowledge {
  /** For its prompt; undefined: nothing. */
  readonly shown: string | undefined
  /** The names of the texts that are searched. */
  readonly searched: readonly string[]
  /** The names of the skills that are read when they are needed. */
  readonly skills: readonly string[]
}

/** Divides the texts of an agent into those that its prompt has, and those that it searches. */
export function divideKnowledge(texts: KnowledgeTexts, names: readonly string[] = []): Knowledge {
  const shown: string[] = []
  const searched: string[] = []
  const skills = names.filter((name) => texts[name]?.description !== undefined)
  let left = PROMPT_CHARACTERS_MAX
  for (const name of names.filter((each) => !skills.includes(each))) {
    const text = texts[name]?.text ?? ''
    if (text.length > SHOWN_CHARACTERS_MAX || text.length > left) searched.push(name)
    else {
      left -= text.length
      shown.push(`<knowledge name="${name}">\n${text}\n</knowledge>`)
    }
  }
  const parts = [
    ...(shown.length > 0 ? ['What you know, and may rely on:', ...shown] : []),
    ...(skills.length > 0 ? [SKILLS, ...skills.map((name) => showSkill(name, texts[name]))] : []),
  ]
  return { shown: parts.length > 0 ? parts.join('\n\n') : undefined, searched, skills }
}

const SKILLS =
  'Skills that you have. When what you do is what one is for, first read its instructions with ' +
  'the tool for it, and follow them:'

const showSkill = (name: string, skill: KnowledgeText | undefined): string =>
  `<skill name="${name}">\n${skill?.description}\n</skill>`

/** Creates the tool by which an agent reads its skills: the instructions, or one of the files. */
export const createReadSkill = (name: string, { texts, names }: NamedTexts): CrewTool => ({
  name,
  key: name,
  type: 'read_skill',
  description:
    'Reads the instructions of a skill, or one of its files. Files are read, and not run. The ' +
    `skills: ${names.join(', ')}.`,
  parameters: {
    type: 'object',
    properties: {
      name: { type: 'string', enum: [...names], description: 'The name of the skill' },
      file: { type: 'string', description: 'The path of one of its files' },
      offset: { type: 'integer', minimum: 0, description: 'The first character; 0 by default' },
    },
    required: ['name'],
    additionalProperties: false,
  },
  timeoutMs: 1000,
  async call({ arguments: { name: skill, file, offset = 0 } }) {
    const { text = '', files = {} } = texts[String(skill)] ?? {}
    const all = new Map(
      Object.entries(files).map(([path, each]) => [path, { text: each, extent: '' }]),
    )
    const read = typeof file === 'string' ? textOf(all, file).text : text
    const part = readPart(read, { offset: Number(offset), limit: READ_CHARACTERS })
    const others = file === undefined && all.size > 0 ? `\n\nIts files: ${namesOf(all)}.` : ''
    return answer(`${part}${others}`)
  },
})

interface NamedTexts {
  readonly texts: KnowledgeTexts
  readonly names: readonly string[]
}

/** Creates the tool by which an agent searches these texts. They are read at its first call. */
export function createKnowledgeSearch(name: string, { texts, names }: NamedTexts): CrewTool {
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
        ({ passage }) =>
          `<passage from="${passage.source}"${placeOf(passage, texts)} ` +
          `offset="${passage.offset}">` +
          `\n${passage.text}\n</passage>`,
      )
      return answer(passages.join('\n\n'))
    },
  }
}

/** The page of a document on which a passage begins; empty for one without numbers. */
function placeOf({ source, offset, text }: Passage, texts: KnowledgeTexts): string {
  const { text: whole = '', extent } = texts[source] ?? {}
  if (extent === undefined || text.startsWith('[')) return ''
  const before = whole.slice(Math.max(offset - PAGE_CHARACTERS_MAX, 0), offset)
  const [, unit = '', number] = [...before.matchAll(/^\[(\w+) (\d+)[\]:]/gm)].at(-1) ?? []
  return number === undefined ? '' : ` ${unit.toLowerCase()}="${number}"`
}
