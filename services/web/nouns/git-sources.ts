import * as v from 'valibot'
import type { Automation } from '../../platform/automations/automations.ts'
import { findCrewSettings, refuseChange } from '../../platform/crews/crew-settings.ts'
import { removeRepository, findRepository } from '../../platform/crews/source-repositories.ts'
import type { RepositoryPlace, SourceRepository } from '../../platform/crews/source-repositories.ts'
import {
  REPOSITORY_DIRECTORY_MAX,
  REPOSITORY_REF_MAX,
  REPOSITORY_TOKEN_MAX,
  REPOSITORY_URL_MAX,
  repositoryDirectoryProblem,
  repositoryRefProblem,
  repositoryTokenProblem,
  repositoryUrlProblem,
} from '../../platform/crews/source-repository-fields.ts'
import { saveGivenRepository } from '../api/crews/change-repository.ts'
import { nullable, perhapsMoment, say } from '../api/openapi/parts.ts'
import { AppError } from '../../shared/errors.ts'
import { checked } from '../http/parse-body.ts'
import { secret, text } from '../resources/controls.ts'
import { field, resource } from '../resources/declaration.ts'
import type { Call } from '../resources/declaration.ts'
import { automation } from './automation.ts'
import { factsByName, valuesByName } from './by-name.ts'

const fields = {
  url: field(checked(repositoryUrlProblem), {
    label: 'Address',
    control: text({ max: REPOSITORY_URL_MAX, isMono: true }),
    example: 'https://github.com/acme/crew.git',
  }),
  ref: field(checked(repositoryRefProblem), {
    label: 'Branch or tag',
    hint: 'A branch, a tag or a whole commit.',
    control: text({ max: REPOSITORY_REF_MAX, isMono: true }),
    example: 'main',
  }),
  directory: field(v.optional(v.nullable(checked(repositoryDirectoryProblem)), null), {
    label: 'Folder of the project',
    hint: 'Null: the whole repository.',
    control: text({ max: REPOSITORY_DIRECTORY_MAX, isMono: true, isOptional: true }),
  }),
  token: field(v.optional(checked(repositoryTokenProblem)), {
    label: 'Access token',
    hint:
      'An access token, or name:token where the server asks for a name. The one that is there ' +
      'stays, unless the host is another now.',
    control: secret({ max: REPOSITORY_TOKEN_MAX }),
  }),
}

interface Given extends RepositoryPlace {
  /** Undefined: the one that is there. */
  readonly token?: string | undefined
}

/** The repository of an automation, whose id it has. */
interface Row extends SourceRepository {
  readonly id: string
}

/** The Git repository that an automation is made from, by the API and in files. */
export const gitSources = resource<Automation, Given, Row, typeof fields>({
  kind: 'git_source',
  id: 'uuid',
  under: automation,
  most: 1,
  fields,
  identity: 'url',
  values: valuesByName(fields),
  facts: factsByName({
    has_token: { type: 'boolean' },
    last_commit: nullable('string'),
    pulled_at: perhapsMoment,
    failure: say(nullable('string'), 'Of the last pull, and what to do.'),
  }),
  rights: { read: 'viewer', change: 'editor' },
  scope: 'settings',
  verbs: {
    list: listOf,
    find: async (call, id) => (await listOf(call)).find((row) => row.id === id),
    read: async (_, given) => given,
    async create(call, given) {
      if ((await listOf(call)).length > 0) {
        throw new AppError('conflict', 'The automation has a Git repository. Change that one.')
      }
      const { sql, owner } = call
      if (!(await findCrewSettings(sql, owner.id))) await refuseChange(sql, owner.id)
      await save(call, given)
      const [row] = await listOf(call)
      if (row) return { row }
      throw new AppError('not_found', 'The automation was deleted meanwhile.')
    },
    change: (call, _, given) => save(call, given),
    remove: ({ sql, owner }) => removeRepository(sql, { deploymentId: owner.id }),
  },
  actions: {},
  words: {
    about: 'An automation from source may be made from a Git repository; a worker pulls it.',
    icon: 'automations',
    form: 'Git repository',
    deletes: 'Its secrets are deleted with it. What is deployed stays.',
  },
  name: ({ url }) => url,
  state: ({ failure }) => (failure === null ? ['good', 'Saved'] : ['bad', 'Failed', failure]),
  columns: [{ title: 'Address', cell: ({ url }) => url }],
})

async function listOf({ sql, owner }: Call<Automation>): Promise<Row[]> {
  const found = await findRepository(sql, { deploymentId: owner.id })
  return found ? [{ ...found, id: owner.automationId }] : []
}

const save = ({ sql, deps, owner }: Call<Automation>, { token, ...place }: Given): Promise<void> =>
  saveGivenRepository(deps, sql, { ...place, token, deploymentId: owner.id })
