import type { ScheduleFields } from '../../../platform/schedules.ts'
import { MISSED_POLICIES } from '../../../platform/schedules.ts'
import { timesProblem } from '../../../platform/schedule-times.ts'
import type { Schedule } from '../../../platform/schedules.ts'
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

const NAME = /^(?!\s)[^\p{Cc}]{1,100}(?<!\s)$/u
const LENGTH_MAX = 64 * 1024

/** Returns a new schedule with an entry for each input of the automation. */
export const newSchedule = (inputs: readonly string[]): TypedSchedule => ({
  name: '',
  cron: '',
  timeZone: 'UTC',
  missed: 'skip',
  inputs: JSON.stringify(Object.fromEntries(inputs.map((name) => [name, ''])), null, 2),
})

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
    cron: text('cron').replace(/\s+/g, ' '),
    timeZone: text('time_zone'),
    missed: text('missed'),
    inputs: (form.get('inputs') ?? '').replaceAll('\r\n', '\n').slice(0, LENGTH_MAX),
  }
}

/** Returns the fields of a schedule, or what is wrong with what was typed. */
export function toFields(
  { name, cron, timeZone, missed: chosen, inputs: text }: TypedSchedule,
  now: Date,
): ScheduleFields | string {
  if (!NAME.test(name)) {
    return 'Give the schedule a name of 1 to 100 characters, without control characters.'
  }
  const problem = timesProblem({ cron, timeZone }, now)
  if (problem !== undefined) return problem
  const missed = MISSED_POLICIES.find((each) => each === chosen)
  if (missed === undefined) return 'Choose what becomes of missed times.'
  const inputs = readInputs(text)
  return inputs ? { name, cron, timeZone, missed, inputs } : 'The inputs are one JSON object.'
}

function readInputs(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text.trim() === '' ? '{}' : text)
    return isObject(value) && !Array.isArray(value) ? { ...value } : undefined
  } catch {
    return undefined
  }
}
