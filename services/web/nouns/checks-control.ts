import { html } from 'hono/html'
import { CHECKS_MAX, JUDGED_TIMES } from '../../platform/evaluations/checks.ts'
import type { Check } from '../../platform/evaluations/checks.ts'
import { isObject } from '../../shared/is-object.ts'
import type { Html } from '../console/frame/parts.ts'
import { json } from '../resources/controls.ts'
import type { Control } from '../resources/controls.ts'

/** The types as people choose them, with the fields that each one has. */
const TYPES: Readonly<Record<Check['type'], readonly [text: string, ...fields: FieldName[]]>> = {
  equal: ['The output is the expected one'],
  contains: ['The output has a text', 'text'],
  pattern: ['A pattern finds something in the output', 'pattern'],
  expression: ['A condition over the output holds', 'expression'],
  schema: ['The output is JSON under a schema', 'schema'],
  tool_called: ['A tool was called', 'tool'],
  tool_not_called: ['A tool was not called', 'tool'],
  at_most: ['It takes at most', 'usd', 'tokens', 'seconds'],
  judge: ['A model finds it good', 'model', 'rubric', 'times'],
  person: ['A person finds it good'],
}
/** Rows for checks that are not there yet; of these, pages show the first one that is empty. */
const EMPTY_ROWS = 4

interface Part {
  readonly label: string
  readonly placeholder?: string
  readonly isLong?: true
  readonly isAmount?: true
}

/** What a check may say beside its type. */
const PARTS = {
  text: { label: 'Text (optional: the expected output)', isLong: true },
  pattern: { label: 'Regular expression', placeholder: '^[A-Z]' },
  expression: { label: 'Condition', placeholder: '@.words < 200' },
  schema: { label: 'JSON Schema', placeholder: '{"type": "object"}', isLong: true },
  tool: { label: 'Tool', placeholder: 'its key in the version' },
  usd: { label: 'Dollars', isAmount: true },
  tokens: { label: 'Tokens', isAmount: true },
  seconds: { label: 'Seconds', isAmount: true },
  model: { label: 'Model', placeholder: 'gpt-5' },
  rubric: { label: 'What it judges by', placeholder: 'The answer is polite.', isLong: true },
  times: { label: `Times (${JUDGED_TIMES.join(', ')})`, placeholder: '1', isAmount: true },
} satisfies Readonly<Record<string, Part>>
type FieldName = keyof typeof PARTS

const schema = json({ rows: 3 })
const isType = (given: string): given is Check['type'] => Object.hasOwn(TYPES, given)

/** Checks, one under the other, each with a type and the fields of that type. */
export const checkRows: Control = {
  render({ name, label, hint }, typed) {
    const used = Array.from({ length: CHECKS_MAX }, (_, row) => row).filter(
      (row) => typed.get(`${name}.${row}.type`) ?? '',
    )
    const rows = Math.min(CHECKS_MAX, (used.at(-1) ?? -1) + 1 + EMPTY_ROWS)
    return html`<fieldset class="checks">
      <legend>${label}</legend>
      ${Array.from({ length: rows }, (_, row) => rowOf(`${name}.${row}`, row + 1, typed))}
      <span class="field-hint">${hint ?? ''}</span>
    </fieldset>`
  },
  read: (typed, name) =>
    Array.from({ length: CHECKS_MAX }, (_, row) => readRow(typed, `${name}.${row}`)).filter(
      (each) => each !== undefined,
    ),
  write: (name, value) =>
    (Array.isArray(value) ? value : []).flatMap((check: unknown, row) =>
      Object.entries(isObject(check) ? check : {}).map(
        ([part, given]) =>
          [
            `${name}.${row}.${part}`,
            isObject(given) ? JSON.stringify(given, null, 2) : String(given),
          ] as const,
      ),
    ),
}

function rowOf(at: string, number: number, typed: URLSearchParams): Html {
  const chosen = typed.get(`${at}.type`) ?? ''
  return html`<div class="check" role="group" aria-label="Check ${number}">
    <select name="${at}.type" aria-label="Check ${number}">
      ${Object.entries({ '': ['None'], ...TYPES }).map(
        ([type, [text]]) =>
          html`<option value="${type}" ${type === chosen && 'selected'}>${text}</option>`,
      )}
    </select>
    ${Object.entries<Part>(PARTS).map(([part, look]) => partOf([at, part], look, typed))}
  </div>`
}

function partOf(
  [at, part]: readonly [string, string],
  { label, placeholder = '', isLong, isAmount }: Part,
  typed: URLSearchParams,
): Html {
  const name = `${at}.${part}`
  const value = typed.get(name) ?? ''
  const mode = isAmount ? html`inputmode="decimal"` : ''
  return html`<label class="of-${part}"
    >${label}
    ${
      isLong
        ? html`<textarea name="${name}" rows="3" placeholder="${placeholder}">${value}</textarea>`
        : html`<input name="${name}" value="${value}" placeholder="${placeholder}" ${mode} />`
    }
  </label>`
}

/** Returns the check of a row, for its schema to judge; undefined: the row has none. */
function readRow(typed: URLSearchParams, at: string): object | undefined {
  const type = typed.get(`${at}.type`) ?? ''
  if (type === '') return undefined
  const [, ...parts] = isType(type) ? TYPES[type] : ['']
  const read = parts.flatMap((part) => {
    const given = (typed.get(`${at}.${part}`) ?? '').replaceAll('\r\n', '\n')
    return given.trim() === '' ? [] : [[part, readPart(part, given)] as const]
  })
  return { type, ...Object.fromEntries(read) }
}

function readPart(part: FieldName, given: string): unknown {
  if (part === 'schema') return schema.read(new URLSearchParams({ part: given }), 'part')
  const look: Part = PARTS[part]
  return look.isAmount && Number.isFinite(Number(given)) ? Number(given) : given
}
