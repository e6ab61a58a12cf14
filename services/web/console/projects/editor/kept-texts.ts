import { createHash } from 'node:crypto'
import type { CrewDefinition } from '../../../../platform/definitions/crew-definition.ts'
import type { KnowledgeTexts } from '../../../../platform/definitions/knowledge-texts.ts'

/** Longer texts are edited elsewhere: here something short stands for them. */
const SHOWN_CHARACTERS_MAX = 2000
const KEPT = /^\(kept: [\d,]+ characters, sha256 ([\da-f]{64})\)$/

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Puts something short in the place of each long text that a definition has as knowledge. */
export const shortenTexts = (definition: CrewDefinition): CrewDefinition =>
  changeTexts(definition, (text) =>
    text.length <= SHOWN_CHARACTERS_MAX
      ? text
      : `(kept: ${text.length} characters, sha256 ${digestOf(text)})`,
  )

/**
 * Puts the long texts of a former definition back in their places; returns what is wrong where
 * something stands for a text that it does not have.
 */
export function restoreTexts(
  definition: CrewDefinition,
  former: CrewDefinition | undefined,
): { readonly definition: CrewDefinition } | { readonly problems: readonly string[] } {
  const kept = new Map<string, string>()
  if (former) {
    changeTexts(former, (text) => {
      kept.set(digestOf(text), text)
      return text
    })
  }
  const problems: string[] = []
  const restored = changeTexts(definition, (text, place) => {
    const [, digest] = KEPT.exec(text) ?? []
    const whole = digest === undefined ? text : kept.get(digest)
    if (whole === undefined) {
      problems.push(
        `${place}: stands for a text that this version does not have; put the text here`,
      )
    }
    return whole ?? text
  })
  return problems.length > 0 ? { problems } : { definition: restored }
}

type Change = (text: string, place: string) => string

function changeTexts(definition: CrewDefinition, change: Change): CrewDefinition {
  if (!definition.knowledge) return definition
  const entries = Object.entries(definition.knowledge).map(([name, { files, ...entry }]) => {
    const at = `knowledge.${name}`
    const changed = Object.entries(files ?? {}).map(
      ([path, text]) => [path, change(text, `${at}.files.${path}`)] as const,
    )
    const own = { ...entry, text: change(entry.text, `${at}.text`) }
    return [name, files ? { ...own, files: Object.fromEntries(changed) } : own] as const
  })
  const knowledge: KnowledgeTexts = Object.fromEntries(entries)
  return { ...definition, knowledge }
}
