import * as v from 'valibot'
import type { Automation } from '../../platform/automations/automations.ts'
import {
  VARIABLE_NAME_MAX,
  variableNameProblem,
  variableValueProblem,
} from '../../platform/crews/crew-variable-fields.ts'
import {
  createVariableSeals,
  deleteCrewVariable,
  listCrewVariables,
  setCrewVariable,
  VARIABLES_MAX,
} from '../../platform/crews/crew-variables.ts'
import type { CrewVariable } from '../../platform/crews/crew-variables.ts'
import { AppError } from '../../shared/errors.ts'
import { moment } from '../api/openapi/parts.ts'
import { checked } from '../http/parse-body.ts'
import { secret, text } from '../resources/controls.ts'
import { field, resource } from '../resources/declaration.ts'
import type { Call, Values } from '../resources/declaration.ts'
import { automation } from './automation.ts'
import { factsByName, valuesByName } from './by-name.ts'

const VALUE_MAX = 32_768

const fields = {
  name: field(checked(variableNameProblem), {
    label: 'Name',
    control: text({ max: VARIABLE_NAME_MAX, isMono: true }),
    example: 'SERPER_API_KEY',
    isFixed: true,
  }),
  value: field(v.optional(v.nullable(checked(variableValueProblem)), null), {
    label: 'Value',
    hint: 'Null: it is a secret.',
    control: text({ max: VALUE_MAX, isMono: true, isOptional: true }),
    facts: (value) => ({ secret: value === null }),
  }),
  secret_value: field(v.optional(checked(variableValueProblem)), {
    label: 'Secret value',
    hint: 'In place of a value. The one that is there stays while neither is given.',
    control: secret({ max: VALUE_MAX }),
    example: 'a-key-of-a-tool',
  }),
}

interface Given {
  readonly name: string
  /** null: a secret. */
  readonly value: string | null
  /** Undefined: the one that is there. */
  readonly secretValue?: string | undefined
}

/** The environment of a crew from source (docs/own-crews.md), by the API and in files. */
export const environmentVariables = resource<Automation, Given, CrewVariable, typeof fields>({
  kind: 'environment_variable',
  id: 'number',
  under: automation,
  most: VARIABLES_MAX,
  fields,
  values: valuesByName(fields),
  facts: factsByName({ updated_at: moment }),
  rights: { read: 'viewer', change: 'editor' },
  scope: 'settings',
  verbs: {
    list: listOf,
    find: async (call, id) => (await listOf(call)).find((row) => String(row.id) === id),
    read: readGiven,
    async create(call, given) {
      if (await findNamed(call, given)) {
        throw new AppError('conflict', `The crew has a variable ${given.name}. Change that one.`)
      }
      await set(call, given)
      const row = await findNamed(call, given)
      if (row) return { row }
      throw new AppError('not_found', 'The variable was deleted meanwhile.')
    },
    change: (call, _, given) => set(call, given),
    remove: ({ sql, owner }, { name }) => deleteCrewVariable(sql, { deploymentId: owner.id, name }),
  },
  actions: {},
  words: {
    about: 'A crew from source gets its variables with each deployment.',
    icon: 'key',
    form: 'Variable',
    deletes: 'The next deployment is without it.',
  },
  name: ({ name }) => name,
  state: ({ value }) => ['good', value === null ? 'Secret' : 'Plain'],
  columns: [{ title: 'Name', cell: ({ name }) => name }],
})

function listOf({ sql, owner }: Call<Automation>): Promise<CrewVariable[]> {
  return listCrewVariables(sql, { deploymentId: owner.id })
}

const findNamed = async (call: Call<Automation>, { name }: Pick<Given, 'name'>) =>
  (await listOf(call)).find((row) => row.name === name)

/** Refuses two values, and none for what has no secret yet (`unprocessable`). */
async function readGiven(
  call: Call<Automation>,
  { name, value, secret_value: secretValue }: Values<typeof fields>,
): Promise<Given> {
  const given = { name, value, secretValue }
  if (value !== null && secretValue !== undefined) {
    throw new AppError('unprocessable', 'Give a value or a secret_value, not both.')
  }
  const isKept = value === null && secretValue === undefined
  if (!isKept || (await findNamed(call, given))?.value === null) return given
  throw new AppError('unprocessable', 'Give a value, or a secret_value for a secret.')
}

async function set(
  { sql, deps: { config }, owner }: Call<Automation>,
  { name, value, secretValue }: Given,
): Promise<void> {
  const key = { deploymentId: owner.id, name }
  const seals = createVariableSeals(config.SECRET_KEY_BASE, config.SECRET_KEY_BASE_PREVIOUS)
  if (value !== null) await setCrewVariable(sql, key, { value })
  else if (secretValue !== undefined) {
    await setCrewVariable(sql, key, { sealedValue: seals.seal(secretValue, key) })
  }
}
