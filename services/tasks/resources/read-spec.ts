import { readFile, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import * as v from 'valibot'
import { toError } from '../../shared/errors.ts'

import { didYouMean } from '../../shared/closest.ts'
import type { WantedDocument } from './documents.ts'
import type { Kind } from './kinds.ts'
import type { SecretSource } from './options.ts'
import type { Problem } from './problems.ts'
import type { ResolvedDocument } from './resolve-documents.ts'

const BYTES_MAX = 256 * 1024
const HOW = 'Write {env: NAME} or {file: PATH}, which say where it is'

const reference = v.union([
  v.strictObject({ env: v.pipe(v.string(), v.regex(/^\w{1,200}$/)) }),
  v.strictObject({ file: v.pipe(v.string(), v.minLength(1)) }),
])

/** What the spec of a document says, or what is wrong with it. */
interface ReadSpec {
  /** Of the fields that are no secret, and of the name where that is one. */
  readonly values: Readonly<Record<string, unknown>>
  readonly secrets: Readonly<Record<string, string>>
  readonly problems: Problem[]
}

/** Reads the values of a document, and its secrets from where it says that they are. */
export async function readSpec(
  { document, kind }: ResolvedDocument,
  source: SecretSource,
): Promise<ReadSpec> {
  const isField = Object.hasOwn(kind.fields, kind.identity)
  const values: Record<string, unknown> = isField ? { [kind.identity]: document.name } : {}
  const secrets: Record<string, string> = {}
  const problems = specProblems(document, kind)
  for (const [field, given] of Object.entries(document.spec)) {
    if (!kind.fields[field]?.isSecret) {
      values[field] = given
      continue
    }
    const place = document.at('spec', field)
    try {
      secrets[field] = await readSecret(given, { file: place.file, source })
    } catch (thrown) {
      problems.push({ ...place, field: `spec.${field}`, message: toError(thrown).message })
    }
  }
  return { values, secrets, problems }
}

function specProblems({ spec, at }: WantedDocument, { identity, fields }: Kind): Problem[] {
  const names = Object.keys(fields).filter((field) => field !== identity)
  const unknown = Object.keys(spec).flatMap((field): Problem[] => {
    if (names.includes(field)) return []
    const message =
      field === identity
        ? 'It is the `name` of the document: leave it out here.'
        : `It is not known.${didYouMean(field, names)} Known: ${names.join(', ')}.`
    return [{ ...at('spec', field), field: `spec.${field}`, message }]
  })
  const missing = names
    .filter((field) => fields[field]?.isRequired && !Object.hasOwn(spec, field))
    .map((field) => ({ ...at('spec'), field: `spec.${field}`, message: 'It is required.' }))
  return [...unknown, ...missing]
}

/**
 * Reads a secret from where a document says that it is: a variable, or a file beside the document,
 * whose last end of line is not part of it. Raises an error that never has the value.
 */
async function readSecret(
  given: unknown,
  { file, source }: { readonly file: string; readonly source: SecretSource },
): Promise<string> {
  const parsed = v.safeParse(reference, given)
  if (!parsed.success) throw new Error(`A secret is not written into a document. ${HOW}.`)
  if ('env' in parsed.output) {
    const value = source.variables[parsed.output.env]
    if (value) return value
    throw new Error(`The variable ${parsed.output.env} is not set, or empty.`)
  }
  if (!source.hasFiles) throw new Error('No files are read here. Write {env: NAME}.')
  const path = resolve(dirname(file), parsed.output.file)
  try {
    if ((await stat(path)).size > BYTES_MAX) throw new Error(`it has more than ${BYTES_MAX} bytes`)
    const text = (await readFile(path, 'utf8')).replace(/\r?\n$/, '')
    if (text !== '') return text
  } catch (thrown) {
    throw new Error(`The file ${path} cannot be read: ${toError(thrown).message}.`)
  }
  throw new Error(`The file ${path} is empty.`)
}
