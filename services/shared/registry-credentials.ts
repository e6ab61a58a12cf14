import { createHmac } from 'node:crypto'

/** What a credential of the registry of crews allows: `push` pulls and deletes as well. */
export const REGISTRY_ACTIONS = ['pull', 'push'] as const
/** What a credential of the registry of crews allows. */
export type RegistryAction = (typeof REGISTRY_ACTIONS)[number]

/** A name and a password, as HTTP Basic has them. */
interface RegistryCredential {
  readonly username: string
  readonly password: string
}

/** Returns the beginning of the names of an organization's repositories, without a slash. */
export const repositoriesOf = (organizationId: number): string => `org-${organizationId}`

/**
 * Derives the credential of one organization. It is stored nowhere: workers hand it to builds and
 * nodes, and the registry's gate derives it again.
 */
export function registryCredential(
  key: string,
  organizationId: number,
  action: RegistryAction,
): RegistryCredential {
  const username = `${repositoriesOf(organizationId)}-${action}`
  const password = createHmac('sha256', key).update(`registry:${username}`).digest('hex')
  return { username, password }
}
