import { repositoriesOf } from '../../../shared/registry-credentials.ts'
import type { CrewOwner } from '../crew-host.ts'

/** Returns the repository of an automation's images, without the registry. */
export const repositoryOf = ({ organizationId, deploymentId }: CrewOwner): string =>
  `${repositoriesOf(organizationId)}/crew-${deploymentId}`

/** The tag under which the image of a deployment is pushed: what has no tag is not kept. */
export const imageTag = (id: number): string => `d${id}`

/** The tag of the cache of an automation's builds. */
export const CACHE_TAG = 'cache'
