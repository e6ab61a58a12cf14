import { Document } from 'yaml'
import { didYouMean } from '../../shared/closest.ts'
import { AppError } from '../../shared/errors.ts'
import { createApi } from './api.ts'
import { readKinds } from './kinds.ts'
import type { Kind } from './kinds.ts'
import type { ExportRequest } from './options.ts'
import { createState, nameOf } from './state.ts'

const DOCUMENTS_MAX = 10_000

/** A document, as files have it. */
interface ExportedDocument {
  readonly kind: string
  readonly name: string
  readonly parent?: string
  readonly spec: Readonly<Record<string, unknown>>
}

/** Returns what a platform has as the text of a file that `apply` takes. */
export async function exportDocuments(request: ExportRequest): Promise<string> {
  const api = createApi(request)
  const kinds = chooseKinds(readKinds(await api('/openapi.json')), request.kinds)
  const state = createState(api)
  const documents: [Kind, ExportedDocument][] = []
  for (const kind of kinds) {
    const owners = kind.parent ? await state.owners(kind.parent) : [undefined]
    for (const owner of owners.toSorted((a, b) => ((a?.name ?? '') < (b?.name ?? '') ? -1 : 1))) {
      for (const row of await state.rows(kind, owner)) {
        const { values } = row
        const name = nameOf(kind, row)
        if (name === undefined) continue
        const spec = Object.fromEntries(
          Object.keys(kind.fields).flatMap((field) =>
            field !== kind.identity && Object.hasOwn(values, field) ? [[field, values[field]]] : [],
          ),
        )
        const of = { kind: kind.kind, name, ...(owner && { parent: owner.name }) }
        documents.push([kind, { ...of, spec }])
      }
    }
    if (documents.length > DOCUMENTS_MAX) {
      const message = `There are more than ${DOCUMENTS_MAX} documents. Export one --kind at a time.`
      throw new AppError('payload_too_large', message)
    }
  }
  if (request.json)
    return `${JSON.stringify(
      documents.map(([, each]) => each),
      null,
      2,
    )}\n`
  return documents.map(([kind, each]) => toYaml(kind, each)).join('---\n')
}

function chooseKinds(kinds: readonly Kind[], wanted: readonly string[]): readonly Kind[] {
  const names = kinds.map(({ kind }) => kind)
  const unknown = wanted.find((each) => !names.includes(each))
  if (unknown === undefined)
    return kinds.filter((k) => wanted.length === 0 || wanted.includes(k.kind))
  const known = `${didYouMean(unknown, names)} Known: ${names.join(', ')}.`
  throw new AppError('invalid_request', `There is no kind ${JSON.stringify(unknown)}.${known}`)
}

/** Returns a document with a comment for each secret that it cannot have. */
function toYaml({ fields }: Kind, document: ExportedDocument): string {
  const yaml = new Document(document)
  const secrets = Object.keys(fields).filter((field) => fields[field]?.isSecret)
  if (secrets.length > 0) {
    yaml.comment = secrets
      .map((field) => ` ${field} is never exported: {env: NAME} or {file: PATH}, in spec.`)
      .join('\n')
  }
  return yaml.toString({ lineWidth: 0 })
}
