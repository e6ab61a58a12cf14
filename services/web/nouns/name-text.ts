import * as v from 'valibot'
import { text } from '../resources/controls.ts'
import { field } from '../resources/declaration.ts'
import type { Look } from '../resources/declaration.ts'

/** The name that people give something: a text that is more than spaces; `empty` says what for. */
export const nameText = (max: number, empty = 'must not be empty') =>
  v.pipe(
    v.string('must be a text'),
    v.check((name) => name.trim() !== '', empty),
    v.maxLength(max, `must have at most ${max} characters`),
    v.regex(/^[^\p{Cc}\p{Cs}]*$/u, 'must have no control characters'),
  )

/** The field of such a name. */
export const nameField = (max: number, look: Pick<Look, 'hint' | 'example' | 'isFixed'>) =>
  field(nameText(max), { label: 'Name', control: text({ max }), ...look })
