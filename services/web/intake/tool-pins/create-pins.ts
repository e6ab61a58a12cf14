import type { CrewDefinition } from '../../../platform/definitions/crew-definition.ts'
import { oauthServiceOf } from '../../../shared/oauth-service.ts'
import { createForwardProxy } from '../../../shared/outgoing/forward-proxy.ts'
import { createToolGuard } from '../../../shared/outgoing/guards.ts'
import type { WebDeps } from '../../context.ts'
import { createPinConnections } from './pin-connections.ts'
import { pinTools } from './pin-tools.ts'

/** Returns the definition of an organization with the schemas of its tools. */
type PinOf = (organizationId: number) => (definition: CrewDefinition) => Promise<CrewDefinition>

/** Creates what reads the schemas of tools when a version is published, by API or page. */
export function createPins({ sql, config }: WebDeps): PinOf {
  const oauth = oauthServiceOf(config)
  const guard = createToolGuard(config.TOOL_PRIVATE_ORIGINS, createForwardProxy(config))
  return (organizationId) => {
    const connections = createPinConnections({ sql, oauth, organizationId })
    const subject = `organization ${organizationId}`
    return (definition) => pinTools({ guard, subject, connections }, definition)
  }
}
