import { findManagers } from '../../platform/managed-resources.ts'
import type { Queryable } from '../../shared/postgres/database.ts'
import { warningBox } from '../console/frame/parts.ts'
import type { Html } from '../console/frame/parts.ts'
import type { Session } from '../../platform/people/sessions.ts'

/** A row as answers of the API have it, with its id. */
type Document = Readonly<Record<string, unknown>>

/** Adds to documents of one kind what manages each; null: people and other programs. */
export async function markAll(
  sql: Queryable,
  of: { readonly organizationId: number; readonly kind: string },
  documents: readonly Document[],
): Promise<Document[]> {
  const ids = documents.map(({ id }) => String(id))
  const managers = await findManagers(sql, { ...of, ids })
  return documents.map((each) => ({
    ...each,
    managed_by: managers.get(String(each['id'])) ?? null,
  }))
}

/** Adds to one document what manages it. */
export const mark = async (
  sql: Queryable,
  of: { readonly organizationId: number; readonly kind: string },
  document: Document,
): Promise<Document | undefined> => (await markAll(sql, of, [document]))[0]

interface MarkedView {
  readonly sql: Queryable
  readonly session: Session
}

/** Returns what people are told of rows that files keep; nothing of any others. */
export async function managedBox(
  kind: string,
  { sql, session }: MarkedView,
  ids: readonly (number | string)[],
): Promise<Html | string> {
  const { organizationId } = session.user
  const managers = await findManagers(sql, { organizationId, kind, ids })
  if (managers.size === 0) return ''
  const names = [...new Set(managers.values())].join(' and ')
  return warningBox(
    `Managed by ${names}: a change here is undone when its files are applied next, such as by ` +
      'the next upgrade.',
  )
}
