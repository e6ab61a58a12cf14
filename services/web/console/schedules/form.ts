import type { InputField } from '../../../platform/crew-inputs.ts'
import type { InputType } from '../../../platform/input-declarations.ts'
import type { GivenSchedule } from '../../../platform/schedule-fields.ts'
import type { Schedule } from '../../../platform/schedules.ts'
import { AppError } from '../../../shared/errors.ts'
import { isObject } from '../../../shared/is-object.ts'

/** A schedule as somebody typed it. */
export interface TypedSchedule {
  readonly name: string
  readonly cron: string
  readonly timeZone: string
  readonly missed: string
  /** JSON. */
  readonly inputs: string
}

const LENGTH_MAX = 64 * 1024

/** Returns a new schedule with a value for each input that the automation needs or has one for. */
export const newSchedule = (fields: readonly InputField[]): TypedSchedule => ({
  name: '',
  cron: '',
  timeZone: 'UTC',
  missed: 'skip',
  inputs: JSON.stringify(
    Object.fromEntries(
      fields
        .filter((field) => field.required || field.default !== undefined)
        .map((field) => [field.name, firstValue(field)]),
    ),
    null,
    2,
  ),
})

/** The default of an input, else the first of its values, else an empty one of its type. */
const firstValue = ({ default: value, enum: values, type = 'string' }: InputField): unknown =>
  value ?? values?.[0] ?? EMPTY[type]

const EMPTY: Readonly<Record<InputType, unknown>> = {
  string: '',
  integer: 0,
  number: 0,
  boolean: false,
  object: {},
  array: [],
  file: '',
}

/** Returns a schedule as its form shows it. */
export const typedOf = ({ inputs, ...schedule }: Schedule): TypedSchedule => ({
  ...schedule,
  inputs: JSON.stringify(inputs, null, 2),
})

/** Reads a form as it was typed. */
export function readTyped(form: URLSearchParams): TypedSchedule {
  const text = (name: string): string => (form.get(name) ?? '').slice(0, LENGTH_MAX).trim()
  return {
    name: text('name'),
    cron: text('cron'),
    timeZone: text('time_zone'),
    missed: text('missed'),
    inputs: (form.get('inputs') ?? '').replaceAll('\r\n', '\n').slice(0, LENGTH_MAX),
  }
}

/** Returns a schedule that was typed, with its inputs. Raises `unprocessable` for other inputs. */
export function toGiven({ inputs: text, ...typed }: TypedSchedule): GivenSchedule {
  const inputs = readInputs(text)
  if (inputs) return { ...typed, inputs }
  throw new AppError('unprocessable', 'The inputs are one JSON object.')
}

function readInputs(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text.trim() === '' ? '{}' : text)
    return isObject(value) && !Array.isArray(value) ? { ...value } : undefined
  } catch {
    return undefined
  }
}
