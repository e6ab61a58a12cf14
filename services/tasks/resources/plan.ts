import { isDeepStrictEqual } from 'node:util'
import { didYouMean } from '../../shared/closest.ts'
import { AppError } from '../../shared/errors.ts'
import { isObject } from '../../shared/is-object.ts'
import type { Api } from './api.ts'
import type { WantedDocument } from './documents.ts'
import type { Kind } from './kinds.ts'
import type { ApplyRequest } from './options.ts'
import type { Problem } from './problems.ts'
import { keyOf, quote, resolveDocuments } from './resolve-documents.ts'
import type { ResolvedDocument } from './resolve-documents.ts'
import { createState, nameOf, pathOf } from './state.ts'
import type { Owner, RemoteRow, State } from './state.ts'
import { readSpec } from './read-spec.ts'

/** Calls at a time, while nothing is changed. */
const CALLS = 8

/** A field that is to change. */
export interface FieldChange {
  readonly field: string
  /** undefined: there is no value. Secrets have none. */
  readonly before?: unknown
  readonly after?: unknown
  readonly isSecret?: true
}

/** What is to be done with one row. */
export interface Step {
  readonly action: 'create' | 'change' | 'delete' | 'unchanged'
  readonly kind: Kind
  readonly name: string
  /** The name of its parent. */
  readonly parent: string | undefined
  readonly owner: Owner | undefined
  /** undefined: it is to be deleted. */
  readonly resolved: ResolvedDocument | undefined
  /** The row as it was when the plan was made. */
  readonly row: RemoteRow | undefined
  /** The body of the call, with secrets. */
  readonly body: Readonly<Record<string, unknown>>
  readonly changes: readonly FieldChange[]
}

/** What is to be done, or why nothing is. */
export interface Plan {
  readonly steps: readonly Step[]
  readonly problems: readonly Problem[]
}

/** How a plan is made. */
interface Planning extends Pick<
  ApplyRequest,
  'secrets' | 'isPruning' | 'isRenewing' | 'managedBy'
> {
  readonly api: Api
  readonly kinds: readonly Kind[]
}

/** Compares documents with what the platform has. Changes nothing. */
export async function makePlan(
  wanted: readonly WantedDocument[],
  planning: Planning,
): Promise<Plan> {
  const state = createState(planning.api)
  const { documents, problems } = await resolveDocuments(wanted, planning.kinds, state)
  const steps: Step[] = []
  const refused: Problem[] = []
  for (let start = 0; start < documents.length; start += CALLS) {
    const some = documents.slice(start, start + CALLS)
    const made = await Promise.all(some.map((each) => planOne(each, state, planning)))
    for (const each of made) {
      if (Array.isArray(each)) refused.push(...each)
      else steps.push(each)
    }
  }
  const deleted = planning.isPruning ? await planDeletions(documents, state, planning) : []
  return { steps: await inOrder(steps, deleted, state), problems: [...problems, ...refused] }
}

/** What ends is deleted last, or first where there is no room for what is new. */
async function inOrder(
  steps: readonly Step[],
  deleted: readonly Step[],
  state: State,
): Promise<Step[]> {
  const listOf = ({ kind, owner }: Step): string => pathOf(kind, owner?.id)
  const created = new Map<string, number>()
  for (const step of steps) {
    if (step.action === 'create') created.set(listOf(step), (created.get(listOf(step)) ?? 0) + 1)
  }
  const full = new Set<string>()
  for (const [list, { kind, owner }] of new Map(deleted.map((step) => [listOf(step), step]))) {
    const rows = await state.rows(kind, owner)
    if (rows.length + (created.get(list) ?? 0) > kind.most) full.add(list)
  }
  const isFirst = (step: Step): boolean => full.has(listOf(step))
  return [...deleted.filter(isFirst), ...steps, ...deleted.filter((step) => !isFirst(step))]
}

/** A step for a document, before it is compared. */
type Base = Omit<Step, 'action' | 'changes'> & { readonly resolved: ResolvedDocument }

async function planOne(
  resolved: ResolvedDocument,
  state: State,
  planning: Planning,
): Promise<Step | Problem[]> {
  const { document, kind, owner, parent } = resolved
  const rows = isToCome(resolved) ? [] : await readRows(resolved, state)
  if (typeof rows === 'string') return [{ ...document.at('kind'), field: 'kind', message: rows }]
  const same = rows.filter(({ values }) => values[kind.identity] === document.name)
  const { values: plain, secrets, problems } = await readSpec(resolved, planning.secrets)
  if (same.length > 1) {
    const message = `There are ${same.length} of them: rename or delete all but one.`
    problems.push({ ...document.at('name'), field: 'name', message })
  }
  const [row] = same
  if (!row && kind.isGiven) problems.push(refuseNew(resolved, rows))
  if (problems.length > 0) return problems
  const base = {
    kind,
    name: document.name,
    parent: owner?.name ?? parent?.document.name,
    owner,
    resolved,
    row,
    body: { ...plain, ...secrets },
  }
  const compared = await compare(base, Object.keys(secrets), planning)
  return Array.isArray(compared) ? compared : { ...base, ...compared }
}

/** Returns the rows of the kind of a document, or why the token may not read them. */
async function readRows(
  { kind, owner }: ResolvedDocument,
  state: State,
): Promise<readonly RemoteRow[] | string> {
  try {
    return await state.rows(kind, owner)
  } catch (thrown) {
    if (thrown instanceof AppError && thrown.details?.['status'] === 403) return thrown.message
    throw thrown
  }
}

/** Compares a row with what is wanted of it, as the platform would keep that. */
async function compare(
  { kind, row, body, resolved }: Base,
  secrets: readonly string[],
  { api, isRenewing }: Planning,
): Promise<Pick<Step, 'action' | 'changes'> | Problem[]> {
  const unchanged = { action: 'unchanged', changes: [] } as const
  const isRenewed = isRenewing && secrets.length > 0
  const isSame = (values: Step['body']): boolean =>
    row !== undefined && !isRenewed && changesOf(kind, values, row).length === 0
  if (isSame(withDefaults(kind, body))) return unchanged
  const kept = await checkValues(resolved, { row, body }, api)
  if (Array.isArray(kept)) return kept
  if (isSame(kept)) return unchanged
  const changes = changesOf(kind, kept, row)
  const fixed = row ? changes.filter(({ field }) => kind.fields[field]?.isFixed) : []
  if (fixed.length > 0) return fixed.map(({ field }) => refuseFixed(resolved.document, field))
  const set = secrets.map((field) => ({ field, isSecret: true as const }))
  return { action: row ? 'change' : 'create', changes: [...changes, ...set] }
}

/** Returns true while another document has to create its parent first. */
const isToCome = ({ kind, owner }: ResolvedDocument): boolean =>
  kind.parent !== undefined && owner === undefined

const refuseFixed = (document: WantedDocument, field: string): Problem => ({
  ...document.at('spec', field),
  field: `spec.${field}`,
  message: 'It cannot change. Give the document another name, or delete the row first.',
})

/** Refuses a row that files cannot create. */
function refuseNew({ document, kind }: ResolvedDocument, rows: readonly RemoteRow[]): Problem {
  const names = rows.map(({ values }) => String(values[kind.identity]))
  const message =
    `There is no ${kind.kind} ${quote(document.name)}, and files create none.` +
    `${didYouMean(document.name, names)}${kind.made === undefined ? '' : ` ${kind.made}`}`
  return { ...document.at('name'), field: 'name', message }
}

/** Returns the values of a document as the platform would keep them, or why it would not. */
async function checkValues(
  resolved: ResolvedDocument,
  { row, body }: Pick<Base, 'row' | 'body'>,
  api: Api,
): Promise<Step['body'] | Problem[]> {
  const { document, kind, owner } = resolved
  if (isToCome(resolved)) return withDefaults(kind, body)
  try {
    const list = pathOf(kind, owner?.id)
    const at = kind.isGiven && row ? `${list}/${encodeURIComponent(row.id)}` : list
    const method = kind.isGiven ? 'PUT' : 'POST'
    const kept = await api(`${at}?dry_run=true`, { method, json: body })
    const values = isObject(kept) ? kept : {}
    const { [kind.identity]: now = document.name } = values
    if (now === document.name) return values
    const message = `The platform writes it as ${quote(String(now))}: write that.`
    return [{ ...document.at('name'), field: 'name', message }]
  } catch (thrown) {
    if (!(thrown instanceof AppError) || thrown.code !== 'unprocessable') throw thrown
    return refusalOf(document, kind, thrown.message)
  }
}

/** Puts what the platform says against a document at the field that it names. */
function refusalOf(document: WantedDocument, kind: Kind, message: string): Problem[] {
  const texts = message.replace(/^The body is not valid: |\.$/g, '').split('; ')
  const isOfFields = message.startsWith('The body is not valid: ')
  if (!isOfFields) return [{ ...document.at(), message }]
  return texts.map((text) => {
    const [field = ''] = /^\w+/.exec(text) ?? []
    const isName = field === kind.identity
    const rest = `${text.slice(field.length).trim()}.`
    if (isName) return { ...document.at('name'), field: 'name', message: rest }
    return { ...document.at('spec', field), field: `spec.${field}`, message: rest }
  })
}

const withDefaults = ({ fields }: Kind, plain: Step['body']): Step['body'] => ({
  ...Object.fromEntries(
    Object.entries(fields).flatMap(([field, { default: value }]) =>
      value === undefined ? [] : [[field, value]],
    ),
  ),
  ...plain,
})

function changesOf({ fields }: Kind, kept: Step['body'], row?: RemoteRow): FieldChange[] {
  return Object.entries(fields).flatMap(([field, { isSecret }]) => {
    // What a row lacks is null in some answers.
    const [before, after] = [row?.values[field] ?? undefined, kept[field] ?? undefined]
    return isSecret || isDeepStrictEqual(before, after) ? [] : [{ field, before, after }]
  })
}

/**
 * Plans the end of what no document has: of the kinds of documents, below the parents of any. With
 * a name, only of what has its mark.
 */
async function planDeletions(
  documents: readonly ResolvedDocument[],
  state: State,
  { managedBy }: Planning,
): Promise<Step[]> {
  const kept = new Set(
    documents.map(({ document, kind, owner }) => keyOf(kind, owner?.id, document.name)),
  )
  const kinds = [...new Set(documents.map(({ kind }) => kind))].filter(
    ({ isDeletable }) => isDeletable,
  )
  const steps: Step[] = []
  // What belongs to others is deleted first.
  for (const kind of kinds.toReversed()) {
    const owners = documents
      .filter((each) => each.kind.parent?.path === kind.parent?.path)
      .flatMap(({ owner }) => (owner ? [owner] : []))
    const unique = [...new Map(owners.map((owner) => [owner.id, owner])).values()]
    for (const owner of kind.parent ? unique : [undefined]) {
      for (const row of await state.rows(kind, owner)) {
        const name = nameOf(kind, row)
        if (name === undefined || kept.has(keyOf(kind, owner?.id, name))) continue
        if (managedBy !== undefined && row.values['managed_by'] !== managedBy) continue
        const what = { kind, name, parent: owner?.name, owner, row }
        steps.push({ action: 'delete', ...what, resolved: undefined, body: {}, changes: [] })
      }
    }
  }
  return steps
}
