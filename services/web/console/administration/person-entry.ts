import type { AuditEntry } from '../../../platform/audit/audit.ts'
import type { Person } from '../../../platform/people/people.ts'

/** Returns the entry of the audit about a person, whom the platform has, not one organization. */
export const personEntry = (action: string, { id, name, email }: Person): AuditEntry => ({
  action,
  organizationId: null,
  target: { kind: 'user', id, name: email ?? name },
})
