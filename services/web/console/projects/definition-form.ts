import type { Context } from 'hono'
import { DEFINITION_BYTES_MAX, readDefinitionText } from '../../../platform/proposal-answer.ts'
import type { ReadAnswer } from '../../../platform/proposal-answer.ts'
import type { SignedIn } from '../../context.ts'

/** The longest form with a definition: most characters of JSON take three bytes there. */
export const FORM_BYTES_MAX = 4 * DEFINITION_BYTES_MAX

/** Reads the definition that a form has sent, with what is wrong with it. */
export function readDefinitionForm(c: Context<SignedIn>): { text: string; read: ReadAnswer } {
  const text = (c.var.form.get('definition') ?? '').replaceAll('\r\n', '\n').trim()
  const bytes = Buffer.byteLength(text)
  if (bytes <= DEFINITION_BYTES_MAX) return { text, read: readDefinitionText(text) }
  const problem = `The definition has ${bytes} bytes; ${DEFINITION_BYTES_MAX} are allowed.`
  return { text: '', read: { problems: [problem] } }
}
