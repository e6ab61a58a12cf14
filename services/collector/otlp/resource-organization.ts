import { isOrganizationName } from '../../shared/organization-name.ts'

/** The attribute in which the platform's own services say whose spans they send. */
const ORGANIZATION_KEY = 'organization_id'

/** The organization that the document of a resource names; empty when it names none. */
export function organizationOfResource(document: string): string {
  if (!document.includes(ORGANIZATION_KEY)) return ''
  // The transcoder wrote it: an object with an object of attributes.
  const { attributes } = JSON.parse(document) as { attributes: Record<string, unknown> }
  const named = Object.hasOwn(attributes, ORGANIZATION_KEY) ? attributes[ORGANIZATION_KEY] : ''
  return isOrganizationName(named) ? named : ''
}
