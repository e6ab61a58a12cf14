import * as v from 'valibot'
import { whole } from '../../shared/schemas.ts'
import { readRange } from '../../shared/outgoing/address-ranges.ts'
import { INTERNET } from './crew-reach.ts'
import { CREW_WAYS } from './crew-settings.ts'
import type { CrewSettings } from './crew-settings.ts'

/** The most processes of one crew. */
export const REPLICAS_MAX = 20
/** The longest time without runs after which a crew sleeps, in minutes: a week. */
export const IDLE_MINUTES_MAX = 10_080
/** The most hosts and networks that a crew may reach by its own list. */
const EGRESS_MAX = 50
/** The versions of Python that a crew may ask for. */
export const PYTHON_VERSIONS = ['3.10', '3.11', '3.12', '3.13', '3.14'] as const

/** What an entrypoint looks like. */
export const ENTRYPOINT = /^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$/
const CPU = /^([1-9]\d{0,4}m|\d{1,3}(\.\d{1,3})?)$/
const MEMORY = /^[1-9]\d{0,11}(Ki|Mi|Gi|k|M|G)?$/
const HOST = /^(\*\.)?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$/

const form = (pattern: RegExp, problem: string) =>
  v.nullable(v.pipe(v.string(problem), v.maxLength(200, problem), v.regex(pattern, problem)))
const cpu = form(CPU, 'must be processors such as 500m or 2, or null')
const memory = form(MEMORY, 'must be bytes such as 512Mi or 2Gi, or null')
const oneOf = <const Options extends readonly string[]>(options: Options) =>
  v.nullable(v.picklist(options, `must be one of ${options.join(', ')}, or null`))
const hosts =
  'must be a list of hosts such as api.example.com, networks such as 10.0.0.0/8, and the word ' +
  'internet'

/** What each setting of a crew may be. */
export const crewSettings = v.strictObject({
  way: oneOf(CREW_WAYS),
  python_version: oneOf(PYTHON_VERSIONS),
  entrypoint: form(ENTRYPOINT, 'must be module:name, such as my_crew.main:run, or null'),
  replicas: whole(0, REPLICAS_MAX),
  cpu_request: cpu,
  cpu_limit: cpu,
  memory_request: memory,
  memory_limit: memory,
  idle_minutes: v.nullable(whole(1, IDLE_MINUTES_MAX)),
  egress: v.pipe(
    v.array(v.pipe(v.string(hosts), v.check(isPlace, hosts)), hosts),
    v.maxLength(EGRESS_MAX, `must have at most ${EGRESS_MAX} entries`),
  ),
})
/** The settings as the API and the form change them; those left out stay as they are. */
export const crewSettingsFields = v.partial(crewSettings)
/** The settings of a crew as the API and the form have them. */
export type CrewSettingsFields = v.InferOutput<typeof crewSettingsFields>

function isPlace(text: string): boolean {
  return text === INTERNET || HOST.test(text) || readRange(text) !== undefined
}

/** Returns the settings with the given fields in the place of their own. */
export const changeSettings = (settings: CrewSettings, given: CrewSettingsFields): CrewSettings =>
  fromSettingsFields(Object.assign(toSettingsFields(settings), given))

/** Returns the settings that fields mean. */
export const fromSettingsFields = (fields: ReturnType<typeof toSettingsFields>): CrewSettings => ({
  way: fields.way,
  pythonVersion: fields.python_version,
  entrypoint: fields.entrypoint,
  replicas: fields.replicas,
  cpuRequest: fields.cpu_request,
  cpuLimit: fields.cpu_limit,
  memoryRequest: fields.memory_request,
  memoryLimit: fields.memory_limit,
  idleMinutes: fields.idle_minutes,
  egress: fields.egress,
})

/** Returns settings as the API and the form have them. */
export const toSettingsFields = (settings: CrewSettings) => ({
  way: settings.way,
  python_version: settings.pythonVersion,
  entrypoint: settings.entrypoint,
  replicas: settings.replicas,
  cpu_request: settings.cpuRequest,
  cpu_limit: settings.cpuLimit,
  memory_request: settings.memoryRequest,
  memory_limit: settings.memoryLimit,
  idle_minutes: settings.idleMinutes,
  egress: settings.egress,
})
