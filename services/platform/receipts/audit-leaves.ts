import type { PendingQuery, Row } from 'postgres'
import type { Queryable } from '../../shared/postgres/database.ts'
import { saltedHash } from './receipt-documents.ts'

interface AuditRow {
  readonly id: string
  readonly at: Date
  readonly organizationId: number | null
  readonly action: string
  readonly refused: boolean
  readonly actorKind: string
  /** Who acted. */
  readonly actor: { readonly id: string | null; readonly name: string }
  /** On what, what differs, and from where. */
  readonly facts: Readonly<Record<string, unknown>>
}

/** Loads entries of the audit in their order, with what their leaves have hashed. */
export const loadEntries = (sql: Queryable, which: PendingQuery<Row[]>): Promise<AuditRow[]> =>
  sql<AuditRow[]>`
    select id::text, at, organization_id, action, refused, actor_kind,
      json_build_object('id', actor_id, 'name', actor_name) as actor,
      json_build_object('target_kind', target_kind, 'target_id', target_id,
        'target_name', target_name, 'before', before, 'after', after, 'address', address,
        'request_id', request_id) as facts
    from audit_entries where ${which} order by at, audit_entries.id`

/** Makes the content of a leaf of an entry. */
export const auditLeaf = (entry: AuditRow, salt: Buffer) => ({
  kind: 'audit',
  organization: entry.organizationId,
  id: entry.id,
  action: entry.action,
  refused: entry.refused,
  actor_kind: entry.actorKind,
  actor: saltedHash(salt, 'actor', entry.actor),
  facts: saltedHash(salt, 'facts', entry.facts),
  at: entry.at.toISOString(),
})
