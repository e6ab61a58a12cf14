import * as v from 'valibot'
import { checkReach, reachRulesOf } from '../../platform/crews/crew-reach.ts'
import { checkResources } from '../../platform/crews/crew-resources.ts'
import {
  crewSettings,
  fromSettingsFields,
  IDLE_MINUTES_MAX,
  PYTHON_VERSIONS,
  REPLICAS_MAX,
  toSettingsFields,
} from '../../platform/crews/crew-settings-fields.ts'
import { CREW_WAYS, listOwnCrews, saveCrewSettings } from '../../platform/crews/crew-settings.ts'
import type { CrewSettings, OwnCrew } from '../../platform/crews/crew-settings.ts'
import type { Organization } from '../../platform/people/organizations.ts'
import { text as string, say } from '../api/openapi/parts.ts'
import { choice, lines, number, text } from '../resources/controls.ts'
import { field, resource } from '../resources/declaration.ts'
import { organization } from './organization.ts'

/** Those that the API lists at the most. */
const LISTED_MAX = 1000

const { entries } = crewSettings
/** A version may be kept that is no longer offered. */
const pythonVersion: v.GenericSchema<string | null> = entries.python_version
const line = text({ max: 200, isMono: true, isOptional: true })
const oneOf = (options: readonly string[]) =>
  choice(Object.fromEntries(options.map((each) => [each, each])))
const quantity = (schema: typeof entries.cpu_request, label: string, example: string) => {
  const look = { label, hint: 'Null: as the operator decides.', control: line, example }
  return field(v.optional(schema, null), look)
}

/** The settings of crews from source. `replicas` and `idle_minutes` apply at once. */
export const ownCrewFields = {
  way: field(v.optional(entries.way, null), {
    label: 'Way to run it',
    hint: 'Null: as the platform decides.',
    control: oneOf(CREW_WAYS),
  }),
  python_version: field(v.optional(pythonVersion, null), {
    label: 'Python',
    hint: 'Null: as the platform decides.',
    control: oneOf(PYTHON_VERSIONS),
  }),
  entrypoint: field(v.optional(entries.entrypoint, null), {
    label: 'What is run',
    hint: 'What is run, where it cannot be found in the project.',
    control: line,
    example: 'my_crew.main:run',
  }),
  replicas: field(v.optional(entries.replicas, 1), {
    label: 'Processes',
    hint: 'Of the crew. Applies at once, as does idle_minutes.',
    control: number({ min: 0, max: REPLICAS_MAX }),
    example: 1,
  }),
  cpu_request: quantity(entries.cpu_request, 'Processors asked for', '100m'),
  cpu_limit: quantity(entries.cpu_limit, 'Processors at the most', '1'),
  memory_request: quantity(entries.memory_request, 'Memory asked for', '256Mi'),
  memory_limit: quantity(entries.memory_limit, 'Memory at the most', '1Gi'),
  idle_minutes: field(v.optional(entries.idle_minutes, null), {
    label: 'Sleep after minutes without runs',
    hint: 'Without runs for so long it sleeps until the next one. Null: never.',
    control: number({ max: IDLE_MINUTES_MAX }),
    example: 30,
  }),
  egress: field(v.optional(entries.egress, []), {
    label: 'Hosts and networks that it may reach',
    hint:
      'Hosts and networks that it may reach beside those which every crew may; `internet` stands ' +
      'for every public address. Addresses that the operator does not allow stay shut.',
    control: lines({ rows: 3 }),
    example: ['api.example.com'],
  }),
}

/** The settings of automations that are made from sources, by the API and in files. */
export const ownCrews = resource<Organization, CrewSettings, OwnCrew, typeof ownCrewFields>({
  kind: 'own_crew',
  id: 'uuid',
  under: organization('/automations'),
  most: LISTED_MAX,
  fields: ownCrewFields,
  identity: 'automation',
  values: (settings) => {
    const values = toSettingsFields(settings)
    return { ...values, egress: [...values.egress] }
  },
  facts: {
    automation: [say(string, 'Its slug; the id is its own.'), ({ slug }) => slug],
  },
  rights: { read: 'viewer', change: 'editor' },
  scope: 'settings',
  verbs: {
    list: ({ sql, owner }) => listOwnCrews(sql, owner.id, { limit: LISTED_MAX }),
    find: async ({ sql, owner }, id) => (await listOwnCrews(sql, owner.id, { id, limit: 1 }))[0],
    async read({ deps: { config } }, values) {
      const settings = fromSettingsFields(values)
      checkResources(settings, config)
      checkReach(settings.egress, reachRulesOf(config))
      return settings
    },
    change: ({ sql }, row, settings) => saveCrewSettings(sql, row, settings),
  },
  actions: {},
  words: {
    about: 'An automation that is made from a source has settings for its processes.',
    icon: 'automations',
    form: 'Settings',
    made: 'An automation is created in the console, or by the API.',
  },
  name: ({ name }) => name,
  state: () => ['good', 'From source'],
  columns: [{ title: 'Automation', cell: ({ name }) => name }],
})
