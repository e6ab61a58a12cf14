import type { AuditEntry } from '../platform/audit/audit.ts'
import type {
  ConnectionFields,
  OauthConnection,
} from '../platform/connections/oauth-connections.ts'

/** Returns an entry of the audit about a connection. */
export const connectionEntry = (
  action: string,
  { id, organizationId, name }: Pick<OauthConnection, 'id' | 'organizationId'> & { name?: string },
): AuditEntry => ({ action, organizationId, target: { kind: 'connection', id, name } })

/** Returns the fields of a connection that the audit tells; secrets are none of them. */
export const toFacts = ({
  provider,
  kind,
  settings,
  hosts,
  region,
}: Pick<ConnectionFields, 'provider' | 'kind' | 'settings' | 'hosts' | 'region'>) => ({
  provider,
  kind,
  hosts,
  region,
  ...settings,
})
