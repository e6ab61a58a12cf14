import * as v from 'valibot'
import {
  crewSettingsFields,
  toSettingsFields,
} from '../../../platform/crews/crew-settings-fields.ts'
import type { CrewSettingsFields } from '../../../platform/crews/crew-settings-fields.ts'
import type { CrewSettings } from '../../../platform/crews/crew-settings.ts'

/** The fields of the form, each as it was typed. */
export type TypedSettings = Readonly<Record<string, string>>

const TEXT_MAX = 4000
const TEXTS = [
  'way',
  'python_version',
  'entrypoint',
  'cpu_request',
  'cpu_limit',
  'memory_request',
  'memory_limit',
] as const

/** Returns settings as the form shows them. */
export function toTyped(settings: CrewSettings): TypedSettings {
  const { egress, ...others } = toSettingsFields(settings)
  const texts = Object.entries(others).map(([name, value]) => [name, String(value ?? '')])
  return { ...Object.fromEntries(texts), egress: egress.join('\n') }
}

/** A form that was read: what is typed, and what it means or what is wrong with which field. */
interface ReadSettings {
  readonly typed: TypedSettings
  readonly fields?: CrewSettingsFields
  readonly problems: TypedSettings
}

/** Reads the form of the settings. */
export function readSettingsForm(form: URLSearchParams): ReadSettings {
  const read = (name: string): string => (form.get(name) ?? '').slice(0, TEXT_MAX).trim()
  const names = [...TEXTS, 'replicas', 'idle_minutes', 'egress']
  const typed = Object.fromEntries(names.map((name) => [name, read(name)]))
  const result = v.safeParse(crewSettingsFields, {
    ...Object.fromEntries(TEXTS.map((name) => [name, read(name) || null])),
    replicas: toNumber(read('replicas')),
    idle_minutes: read('idle_minutes') === '' ? null : toNumber(read('idle_minutes')),
    egress: read('egress')
      .split(/[\s,]+/)
      .filter((place) => place !== ''),
  })
  if (result.success) return { typed, fields: result.output, problems: {} }
  const problems = result.issues.map(({ path, message }): [string, string] => [
    String(path?.[0]?.key),
    `It ${message.replace(/, or null$/, ', or empty')}.`,
  ])
  return { typed, problems: Object.fromEntries(problems) }
}

/** Digits alone are a number; anything else is refused as none. */
const toNumber = (text: string): number => (/^\d{1,9}$/.test(text) ? Number(text) : Number.NaN)
