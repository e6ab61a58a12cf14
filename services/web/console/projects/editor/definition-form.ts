import { createHash } from 'node:crypto'
import type { Context } from 'hono'
import type { CrewDefinition } from '../../../../platform/definitions/crew-definition.ts'
import {
  DEFINITION_BYTES_MAX,
  readDefinitionText,
} from '../../../../platform/projects/proposal-answer.ts'
import type { ReadAnswer } from '../../../../platform/projects/proposal-answer.ts'
import { AppError } from '../../../../shared/errors.ts'
import { parseStrictJson } from '../../../../shared/http/strict-json.ts'
import { isObject } from '../../../../shared/is-object.ts'
import type { SignedIn } from '../../../context.ts'
import { actOn, applyForm } from './document.ts'
import { restoreTexts } from './kept-texts.ts'
import type { Draft } from './values.ts'

/** The longest form with a definition, twice and in fields: most JSON takes three bytes there. */
export const FORM_BYTES_MAX = 9 * DEFINITION_BYTES_MAX

/** What the editor sent: a definition as text, and what to do with it. */
export interface Edited {
  readonly text: string
  readonly read: ReadAnswer
  /** Only show it again: a button of the form changed it. */
  readonly isUnsaved: boolean
}

/**
 * Reads what the editor sent: its form or its text, by the button that was used. With the
 * definition that it began with, if there was one, it brings the long texts of that.
 */
export function readEdited(
  { var: { form } }: Pick<Context<SignedIn>, 'var'>,
  former?: { readonly definition: CrewDefinition | undefined },
): Edited {
  const act = form.get('act') ?? 'save-text'
  const isOfText = act === 'save-text' || act === 'show-text'
  const isUnsaved = act !== 'save-text' && act !== 'save-form'
  const typed = (form.get(isOfText ? 'definition' : 'base') ?? '').replaceAll('\r\n', '\n').trim()
  const bytes = Buffer.byteLength(typed)
  if (bytes > DEFINITION_BYTES_MAX) {
    const problem = `The definition has ${bytes} bytes; ${DEFINITION_BYTES_MAX} are allowed.`
    return { text: '', read: { problems: [problem] }, isUnsaved: false }
  }
  const text = isOfText
    ? typed
    : JSON.stringify(actOn(applyForm(toDraft(typed), form), act), null, 2)
  const read = readDefinitionText(text)
  if (!former || 'problems' in read) return { text, read, isUnsaved }
  return { text, read: restoreTexts(read.definition, former.definition), isUnsaved }
}

/** Returns the draft in a text; an empty one of a text that is no object of JSON. */
export function toDraft(text: string): Draft {
  try {
    const value = parseStrictJson(Buffer.from(text), 'The definition')
    return isObject(value) ? value : {}
  } catch (thrown) {
    if (thrown instanceof AppError) return {}
    throw thrown
  }
}

/** Names what a definition is, so that a form can say which one it began with. */
export const digestOf = (definition: CrewDefinition): string =>
  createHash('sha256').update(JSON.stringify(definition)).digest('hex').slice(0, 32)
