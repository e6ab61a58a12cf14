import { AppError } from '../../shared/errors.ts'
import { isObject } from '../../shared/is-object.ts'
import type { Transaction } from '../../shared/postgres/database.ts'
import type { CrewDefinition } from '../definitions/crew-definition.ts'
import { fileIdOf } from '../definitions/input-declarations.ts'
import type { Inputs } from '../definitions/input-declarations.ts'
import { findInputFiles } from '../runs/input-files.ts'
import type { InputFile } from '../runs/input-files.ts'
import { namesOfFiles, toFileValue } from '../runs/prepare-inputs.ts'

interface GivenCase {
  readonly id: string
  readonly inputs: Inputs
}

interface Owner {
  readonly deploymentId: number
  readonly definition: CrewDefinition
}

/**
 * Finds the files that cases of a set name, as a kickoff names them: by their ids, in inputs that
 * the running version declares as files, or in objects with a `file_id`.
 */
export async function openCaseFiles(tx: Transaction, setId: string) {
  const [{ deploymentId, definition }] = await tx<[Owner]>`
    select d.id as deployment_id, v.definition from case_sets s
      join deployments d on d.id = s.deployment_id
      join project_versions v on v.id = d.project_version_id
    where s.id = ${setId}`

  const idsIn = idsInInputs(definition)

  function resolveOne(
    inputs: Inputs,
    found: ReadonlyMap<string, InputFile>,
    place: number,
  ): Inputs {
    const lost = [...idsIn(inputs, true)].find(([, id]) => !found.has(id))
    if (lost) {
      throw new AppError(
        'unprocessable',
        `Case ${place}: ${lost[0]} names no file of this automation. Send it to …/files first; ` +
          'one that no run and no case names is deleted after a day.',
      )
    }
    const files = [...idsIn(inputs, false)].filter(([, id]) => found.has(id))
    const values = files.map(([name, id]) => [name, toFileValue(found.get(id))] as const)
    return { ...inputs, ...Object.fromEntries(values) }
  }

  return {
    /**
     * Returns cases with what is known of their files. Raises `unprocessable` for one that is not
     * there, with its place after those that came before.
     */
    async resolve<Given extends GivenCase>(cases: readonly Given[], before: number) {
      const ids = cases.flatMap(({ inputs }) => [...idsIn(inputs, false).values()])
      if (ids.length === 0) return cases
      const found = await findInputFiles(tx, deploymentId, [...new Set(ids)])
      return cases.map((each, index) => ({
        ...each,
        inputs: resolveOne(each.inputs, found, before + index + 1),
      }))
    },
    /** Notes which files cases name, so that they are kept as long as these. */
    async keep(cases: readonly GivenCase[]): Promise<void> {
      const rows = cases.flatMap(({ id, inputs }) =>
        [...new Set(idsIn(inputs, false).values())].map((file) => ({ id, file })),
      )
      if (rows.length === 0) return
      await tx`
        insert into case_files (case_id, file_id)
        select k.id, f.id from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb)
          as k (id uuid, file uuid)
          join input_files f on f.id = k.file and f.deployment_id = ${deploymentId}`
    },
  }
}

/** Returns what finds the ids of files by the names of inputs: of all, or of those declared so. */
const idsInInputs =
  (definition: CrewDefinition) =>
  (inputs: Inputs, isDeclared: boolean): Map<string, string> => {
    const declared = namesOfFiles(definition, inputs)
    const others = Object.keys(inputs).filter((name) => isObject(inputs[name]))
    const names = isDeclared ? declared : [...declared, ...others]
    return new Map(
      names.flatMap((name) => {
        const id = fileIdOf(inputs[name])
        return id === undefined ? [] : [[name, id] as const]
      }),
    )
  }
