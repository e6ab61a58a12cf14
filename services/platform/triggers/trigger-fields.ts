import { AppError } from '../../shared/errors.ts'
import { SCHEMES, secretProblem } from './signature-schemes.ts'
import { mappingProblem } from './trigger-mapping.ts'
import type { TriggerFields } from './triggers.ts'

const NAME = /^(?!\s)[^\p{Cc}]{1,100}(?<!\s)$/u
const INPUTS_CHARACTERS_MAX = 64 * 1024
/** Others name the connection rather than who sends. */
const HEADER = /^(?!(?:host|connection|content-.*|transfer-encoding)$)[a-z0-9-]{1,100}$/

/** A trigger as people enter it. */
export interface GivenTrigger extends TriggerFields {
  /** undefined: the one that there is. */
  readonly secret?: string | undefined
}

/** Returns the fields of a trigger as they are stored. Raises `unprocessable`. */
export function readTrigger(given: GivenTrigger): GivenTrigger {
  const { name, scheme, secret, inputs } = given
  const header = given.header === null ? null : given.header.toLowerCase()
  const wrong = secret === undefined ? undefined : secretProblem(scheme, secret)
  const problem =
    (NAME.test(name)
      ? undefined
      : 'Give the trigger a name of 1 to 100 characters, without control characters.') ??
    (wrong === undefined ? undefined : `The secret ${wrong}.`) ??
    headerProblem({ ...given, header }) ??
    (JSON.stringify(inputs).length > INPUTS_CHARACTERS_MAX
      ? `The inputs have at most ${INPUTS_CHARACTERS_MAX} characters as JSON.`
      : mappingProblem(given))
  if (problem === undefined) return { ...given, header }
  throw new AppError('unprocessable', problem)
}

function headerProblem({ scheme, header }: GivenTrigger): string | undefined {
  if (header === null) return undefined
  const { label, usual } = SCHEMES[scheme]
  if (usual === undefined) return `Leave the header empty: ${label} has its own.`
  if (HEADER.test(header)) return undefined
  return `The header must be a name such as ${usual}, and none that each call has.`
}
