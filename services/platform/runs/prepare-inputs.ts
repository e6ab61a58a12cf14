import { AppError } from '../../shared/errors.ts'
import { isObject } from '../../shared/is-object.ts'
import type { Queryable } from '../../shared/postgres/database.ts'
import type { Automation } from '../automations/automations.ts'
import type { CrewDefinition } from '../definitions/crew-definition.ts'
import { inputFields, resolveInputs } from '../definitions/crew-inputs.ts'
import { fileIdOf } from '../definitions/input-declarations.ts'
import { FILE_BYTES_MAX, findInputFiles } from './input-files.ts'
import type { InputFile } from './input-files.ts'
import { isOwnCrew } from '../definitions/own-crew-definition.ts'
import type { Inputs } from '../definitions/input-declarations.ts'

/** The inputs of a run, and the ids of the files that they name. */
export interface PreparedInputs {
  readonly inputs: Inputs
  readonly files: readonly string[]
}

interface Given {
  readonly automation: Pick<Automation, 'id'>
  readonly definition: CrewDefinition
  readonly inputs: Inputs
}

/**
 * Resolves the inputs of a run, with what is known of each file. Raises `unprocessable` as
 * `resolveInputs` does, and for files that are not there or too large together.
 */
export async function prepareInputs(
  sql: Queryable,
  { automation, definition, inputs: given }: Given,
): Promise<PreparedInputs> {
  const inputs = resolveInputs(definition, given)
  const named = filesNamed(definition, inputs)
  const ids = named.map(({ id }) => id)
  const found = ids.length === 0 ? NONE : await findInputFiles(sql, automation.id, ids)
  return fillInputs(inputs, named, found)
}

const NONE: ReadonlyMap<string, InputFile> = new Map()

/** A file that an input names. */
export interface NamedFile {
  readonly name: string
  readonly id: string
}

/** Returns the files that inputs which were resolved name. */
export const filesNamed = (definition: CrewDefinition, inputs: Inputs): NamedFile[] =>
  namesOfFiles(definition, inputs).flatMap((name) => {
    const id = fileIdOf(inputs[name])
    return id === undefined ? [] : [{ name, id }]
  })

/**
 * Returns inputs with what is known of the files that they name. Raises `unprocessable` for files
 * that are not among those found, or too large together.
 */
export function fillInputs(
  inputs: Inputs,
  named: readonly NamedFile[],
  found: ReadonlyMap<string, InputFile>,
): PreparedInputs {
  if (named.length === 0) return { inputs, files: [] }
  refuseMissing(named.filter(({ id }) => !found.has(id)))
  const files = [...new Set(named.map(({ id }) => id))]
  refuseTooLarge(files.flatMap((id) => found.get(id) ?? []))
  const values = named.map(({ name, id }) => [name, toFileValue(found.get(id))] as const)
  return { inputs: { ...inputs, ...Object.fromEntries(values) }, files }
}

/** Returns the names of inputs that are files; a crew from a source does not say which. */
export const namesOfFiles = (definition: CrewDefinition, inputs: Inputs): string[] =>
  isOwnCrew(definition)
    ? Object.keys(inputs).filter((name) => isObject(inputs[name]))
    : inputFields(definition)
        .filter(({ type }) => type === 'file')
        .map(({ name }) => name)

function refuseMissing(missing: readonly { readonly name: string }[]): void {
  if (missing.length === 0) return
  const problem =
    'names no file of this automation. Send it to …/files first; one that no run uses '
  throw new AppError(
    'unprocessable',
    missing.map(({ name }) => `${name} ${problem}is deleted after a day.`).join(' '),
    {
      details: {
        invalid_inputs: missing.map(({ name }) => ({ name, problem: 'names no file' })),
      },
    },
  )
}

function refuseTooLarge(files: readonly InputFile[]): void {
  const total = files.reduce((sum, { size }) => sum + size, 0)
  if (total <= FILE_BYTES_MAX) return
  throw new AppError(
    'unprocessable',
    `The files of a run have at most ${FILE_BYTES_MAX} bytes together; these have ${total}.`,
  )
}

/** What a run keeps of a file among its inputs; a crew finds the content by the id. */
export function toFileValue(file: InputFile | undefined) {
  if (!file) throw new Error('the file was found before')
  const { id: file_id, name, mediaType: media_type, size, sha256 } = file
  return { file_id, name, media_type, size, sha256 }
}
