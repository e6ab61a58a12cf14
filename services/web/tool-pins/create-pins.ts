import type { CrewDefinition } from '../../platform/crew-definition.ts'
import { createToolGuard } from '../../shared/outgoing/tool-guard.ts'
import type { WebDeps } from '../context.ts'
import { pinTools } from './pin-tools.ts'

/** Returns the definition of an organization with the schemas of its tools. */
export type PinOf = (
  organizationId: number,
) => (definition: CrewDefinition) => Promise<CrewDefinition>

/** Creates what reads the schemas of tools when a version is published, by API or page. */
export function createPins({ config }: WebDeps): PinOf {
  const guard = createToolGuard(config.TOOL_PRIVATE_ORIGINS)
  return (organizationId) => (definition) =>
    pinTools({ guard, subject: `organization ${organizationId}` }, definition)
}
