import { didYouMean } from '../../shared/closest.ts'
import type { WantedDocument } from './documents.ts'
import type { Kind } from './kinds.ts'
import type { Problem } from './problems.ts'
import type { Owner, State } from './state.ts'

/** The names in further problems are not compared with all that there are. */
const SUGGESTIONS_MAX = 100

/** A document whose kind and parent are known. */
export interface ResolvedDocument {
  readonly document: WantedDocument
  readonly kind: Kind
  /** undefined: the organization, or what another document is to create. */
  readonly owner: Owner | undefined
  /** The document that creates or changes its parent. */
  readonly parent: ResolvedDocument | undefined
}

interface Resolved {
  /** Parents come before what belongs to them. */
  readonly documents: ResolvedDocument[]
  readonly problems: Problem[]
}

/** Names a row among those of all kinds and parents. */
export const keyOf = (kind: Kind, parent: string | undefined, name: string): string =>
  JSON.stringify([kind.kind, parent ?? null, name])

/**
 * Finds the kinds and the parents of documents: automations and the like that the platform has, or
 * that other documents create. Refuses what is unknown, twice there, or its own parent.
 */
export async function resolveDocuments(
  wanted: readonly WantedDocument[],
  kinds: readonly Kind[],
  state: State,
): Promise<Resolved> {
  const problems: Problem[] = []
  const resolved = new Map<WantedDocument, ResolvedDocument | undefined>()
  const open = new Set<WantedDocument>()
  const byName = new Map(wanted.map((each) => [JSON.stringify([each.kind, each.name]), each]))

  const suggest = (given: string, owners: readonly Owner[]): string =>
    problems.length < SUGGESTIONS_MAX
      ? didYouMean(
          given,
          owners.map(({ name }) => name),
        )
      : ''

  async function find(document: WantedDocument): Promise<ResolvedDocument | Problem | undefined> {
    const kind = kinds.find((each) => each.kind === document.kind)
    if (!kind) return refuseKind(document, kinds)
    const wrong = refuseParent(document, kind)
    if (wrong || !kind.parent)
      return wrong ?? { document, kind, owner: undefined, parent: undefined }
    const { parent: given = '' } = document
    const parentKind = kinds.find(({ path }) => path === kind.parent?.path)
    const other = parentKind && byName.get(JSON.stringify([parentKind.kind, given]))
    const parent = other && (await resolve(other))
    // What is wrong with it is said there.
    if (other && !parent) return undefined
    const owners = await state.owners(kind.parent)
    const owner = ownerOf(given, owners)
    if (owner || parent) return { document, kind, owner, parent }
    const message = `Your organization has no ${kind.parent.noun} ${quote(given)}.`
    return problemAt(document, 'parent', `${message}${suggest(given, owners)}`)
  }

  async function resolve(document: WantedDocument): Promise<ResolvedDocument | undefined> {
    if (resolved.has(document)) return resolved.get(document)
    const isOpen = open.has(document)
    open.add(document)
    const found = isOpen
      ? problemAt(document, 'parent', 'It is its own parent, by way of others or not.')
      : await find(document)
    const isGood = found !== undefined && 'kind' in found
    if (found && !isGood) problems.push(found)
    resolved.set(document, isGood ? found : undefined)
    return isGood ? found : undefined
  }

  for (const document of wanted) await resolve(document)
  // In the order in which they were found: parents first.
  const documents = [...resolved.values()].filter((each) => each !== undefined)
  return { documents, problems: [...problems, ...findTwins(documents)] }
}

/** Finds an owner by its name, or by its id. */
const ownerOf = (given: string, owners: readonly Owner[]): Owner | undefined =>
  owners.find(({ name }) => name === given) ?? owners.find(({ id }) => id === given)

function refuseKind(document: WantedDocument, kinds: readonly Kind[]): Problem {
  const names = kinds.map(({ kind }) => kind)
  const known = `${didYouMean(document.kind, names)} Known: ${names.join(', ')}.`
  return problemAt(document, 'kind', `There is no kind ${quote(document.kind)}.${known}`)
}

/** Refuses a parent where there is none, and none where there is one. */
function refuseParent(document: WantedDocument, { kind, parent }: Kind): Problem | undefined {
  if ((parent === undefined) === (document.parent === undefined)) return undefined
  const message =
    parent === undefined
      ? `A ${kind} belongs to the organization: leave it out.`
      : `A ${kind} has a parent: write the ${parent.name} of its ${parent.noun}.`
  return problemAt(document, 'parent', message)
}

const problemAt = (document: WantedDocument, field: string, message: string): Problem => ({
  ...document.at(field),
  field,
  message,
})

/** Finds documents of the same row. */
function findTwins(documents: readonly ResolvedDocument[]): Problem[] {
  const first = new Map<string, WantedDocument>()
  return documents.flatMap(({ document, kind, owner }) => {
    const key = keyOf(kind, owner?.id ?? document.parent, document.name)
    const twin = first.get(key)
    if (!twin) {
      first.set(key, document)
      return []
    }
    const { file, line } = twin.at()
    const message = `There is such a ${kind.kind} already, in ${file}:${line}.`
    return [{ ...document.at('name'), field: 'name', message }]
  })
}

/** Returns a name as messages show it. */
export const quote = (name: string): string => JSON.stringify(name.slice(0, 200))
