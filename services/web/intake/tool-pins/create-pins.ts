import { pinAutomation } from '../../../platform/automations/automation-tools.ts'
import type { CrewDefinition } from '../../../platform/definitions/crew-definition.ts'
import { createMcpEras } from '../../../shared/mcp/per-request.ts'
import { oauthServiceOf } from '../../../shared/oauth-service.ts'
import { createForwardProxy } from '../../../shared/outgoing/forward-proxy.ts'
import { createToolGuard } from '../../../shared/outgoing/guards.ts'
import type { WebDeps } from '../../context.ts'
import { createPinConnections } from './pin-connections.ts'
import { listOffers, pinTools } from './pin-tools.ts'
import type { Offer, OfferingTool, PinDeps } from './pin-tools.ts'

/** Returns the definition of an organization with the schemas of its tools. */
type PinOf = (organizationId: number) => (definition: CrewDefinition) => Promise<CrewDefinition>

/** Returns what a tool of an organization offers, or why that cannot be had. */
type OffersOf = (
  organizationId: number,
  key: string,
  tool: OfferingTool,
) => Promise<Offer[] | string>

/** Creates what reads the schemas of tools when a version is published, by API or page. */
export function createPins(web: WebDeps): PinOf {
  const depsOf = createPinDeps(web)
  return (organizationId) => (definition) => pinTools(depsOf(organizationId), definition)
}

/** Creates what lists the tools of servers, documents and automations for those who design. */
export function createOffers(web: WebDeps): OffersOf {
  const depsOf = createPinDeps(web)
  return (organizationId, key, tool) => listOffers(depsOf(organizationId), key, tool)
}

function createPinDeps({ sql, config }: WebDeps): (organizationId: number) => PinDeps {
  const oauth = oauthServiceOf(config)
  const guard = createToolGuard(config.TOOL_PRIVATE_ORIGINS, createForwardProxy(config))
  const eras = createMcpEras()
  return (organizationId) => ({
    guard,
    eras,
    subject: `organization ${organizationId}`,
    connections: createPinConnections({ sql, oauth, organizationId }),
    pinAutomation: (tool) => pinAutomation(sql, organizationId, tool),
  })
}
