import { readFile } from 'node:fs/promises'
import { parseCrewDefinition } from '../platform/definitions/crew-definition.ts'
import type { CrewDefinition } from '../platform/definitions/crew-definition.ts'
import { AppError, toError } from '../shared/errors.ts'

interface DefinitionSource {
  readonly json?: string
  readonly file?: string
}

/**
 * The project version this crew runs. Raises `invalid_configuration` unless exactly one source is
 * set and valid.
 */
export async function readDefinition({ json, file }: DefinitionSource): Promise<CrewDefinition> {
  if ((json === undefined) === (file === undefined)) {
    const given = json === undefined ? 'neither' : 'both'
    throw new AppError(
      'invalid_configuration',
      `Set exactly one of CREW_DEFINITION and CREW_DEFINITION_FILE (${given} set).`,
    )
  }
  const name = file === undefined ? 'CREW_DEFINITION' : `CREW_DEFINITION_FILE (${file})`
  try {
    const input: unknown = JSON.parse(json ?? (await readFile(file ?? '', 'utf8')))
    return parseCrewDefinition(input)
  } catch (thrown) {
    const cause = toError(thrown)
    throw new AppError('invalid_configuration', `${name} cannot be used: ${cause.message}`, {
      cause,
    })
  }
}
