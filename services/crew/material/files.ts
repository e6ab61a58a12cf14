import { fillIn } from '../../platform/definitions/crew-definition.ts'
import type { CrewDefinition } from '../../platform/definitions/crew-definition.ts'
import { isImageType, isTextType, WORKING_FILES } from '../../platform/crew-contract/file-types.ts'
import { fileIdOf } from '../../platform/definitions/input-declarations.ts'
import type { KickoffFile, KickoffFiles } from '../../platform/crew-contract/kickoff-files.ts'
import { numberedName } from '../../platform/definitions/output-file.ts'
import { isDocumentType } from '../../shared/documents/document-types.ts'
import type { ReadDocuments } from '../../shared/documents/read-document.ts'
import { AppError } from '../../shared/errors.ts'
import type { ContentPart } from '../../shared/models/llm-call.ts'
import { wholeEnd } from './read-file.ts'
import type { FileText } from './read-file.ts'

/** The part of a text that a prompt shows; `read_file` reads the rest. */
const SHOWN_CHARACTERS_MAX = 16_384

type Inputs = Readonly<Record<string, unknown>>

/** The files of one run. */
export interface RunFiles {
  /** The inputs with the names of files. */
  readonly inputs: Inputs
  /** By the names of inputs: what the texts of a task show of a file. */
  readonly shown: Inputs
  /** The texts, by the names of their files, which are unique. */
  readonly texts: ReadonlyMap<string, FileText>
  /** Returns the images for which these texts of a task have a place. */
  imagesFor(templates: readonly string[]): ContentPart[]
}

interface NamedFile {
  readonly input: string
  readonly name: string
  readonly file: KickoffFile
}

/** A kickoff with the files that its inputs name. */
export interface GivenFiles {
  readonly definition: Pick<CrewDefinition, 'inputs'>
  readonly inputs: Inputs
  readonly files?: KickoffFiles | undefined
}

/**
 * Refuses a run that names a file which the kickoff does not bring, or with which no agent can
 * work, with `unprocessable`.
 */
export function checkFiles({ definition, inputs, files = {} }: GivenFiles): void {
  for (const { name, file } of nameFiles(definition, inputs, files)) {
    const { media_type: type } = file
    if (!isImageType(type) && !isTextType(type) && !isDocumentType(type)) throw unusable(name, type)
  }
}

/** What reads documents, and a signal that ends it. */
export interface DocumentReading {
  readonly readDocument: ReadDocuments
  readonly signal?: AbortSignal | undefined
}

/**
 * Opens the files that the inputs of a run name. Raises `unprocessable` as `checkFiles` does, and
 * for a document that cannot be read.
 */
export async function openFiles(
  { definition, inputs, files = {} }: GivenFiles,
  { readDocument, signal }: DocumentReading,
): Promise<RunFiles> {
  const named = nameFiles(definition, inputs, files)
  const texts = new Map<string, FileText>()
  const shown: Record<string, unknown> = {}
  const images = new Map<string, ContentPart>()
  for (const { input, name, file } of named) {
    if (isImageType(file.media_type)) {
      shown[input] = `${name} (an image, attached)`
      const url = `data:${file.media_type};base64,${file.content_base64}`
      images.set(input, { type: 'image_url', image_url: { url } })
    } else if (isTextType(file.media_type)) {
      const text = Buffer.from(file.content_base64, 'base64').toString('utf8')
      texts.set(name, { text, extent: '' })
    } else if (isDocumentType(file.media_type)) {
      const bytes = Buffer.from(file.content_base64, 'base64')
      const read = texts.get(name) ?? (await readDocument({ name, bytes }, signal))
      texts.set(name, read)
    } else throw unusable(name, file.media_type)
    const text = texts.get(name)
    if (text) shown[input] = showText(name, text)
  }
  const names = Object.fromEntries(named.map(({ input, name }) => [input, name]))
  return {
    inputs: { ...inputs, ...names },
    shown,
    texts,
    imagesFor: (templates) =>
      [...images].flatMap(([input, image]) =>
        templates.some((template) => hasPlace(template, input)) ? [image] : [],
      ),
  }
}

const hasPlace = (template: string, input: string): boolean =>
  fillIn(template, { [input]: '' }) !== template

function nameFiles(
  { inputs: declared = [] }: Pick<CrewDefinition, 'inputs'>,
  inputs: Inputs,
  files: KickoffFiles,
): NamedFile[] {
  const taken = new Map<string, string>()
  return declared.flatMap((each) => {
    if (typeof each === 'string' || each.type !== 'file') return []
    const id = fileIdOf(inputs[each.name])
    // An input that is not required and was not given.
    if (id === undefined) return []
    const file = Object.hasOwn(files, id) ? files[id] : undefined
    if (!file)
      throw new AppError(
        'unprocessable',
        `The kickoff has no content for the file of the input ${each.name}.`,
      )
    let { name } = file
    for (let number = 2; (taken.get(name) ?? id) !== id; number += 1) {
      name = numberedName(file.name, number)
    }
    taken.set(name, id)
    return [{ input: each.name, name, file }]
  })
}

function showText(name: string, { text, extent }: FileText): string {
  const end = wholeEnd(text, SHOWN_CHARACTERS_MAX)
  const beginning = text.slice(0, end)
  const left = text.length - end
  const rest = left > 0 ? `\n(${left} more characters: read on with offset ${end} of ${name}.)` : ''
  const pages = extent === '' ? '' : ` length="${extent}"`
  return `\n<file name="${name}"${pages}>\n${beginning}\n</file>${rest}\n`
}

const unusable = (name: string, mediaType: string): AppError =>
  new AppError(
    'unprocessable',
    `The file ${name} is ${mediaType}. Agents work with ${WORKING_FILES}.`,
  )
