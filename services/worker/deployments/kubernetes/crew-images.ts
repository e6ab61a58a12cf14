import { toSecretData } from '../../../shared/kubernetes/objects.ts'
import type { KubernetesObject } from '../../../shared/kubernetes/objects.ts'
import { registryCredential, repositoriesOf } from '../../../shared/registry-credentials.ts'
import type { RegistryAction } from '../../../shared/registry-credentials.ts'
import type { CrewOwner } from '../crew-host.ts'
import type { Build } from './build-job.ts'
import type { ImageBuilder } from './cluster-settings.ts'
import type { CrewNames } from './crew-names.ts'

/** Returns the repository of an automation's images, without the registry. */
export const repositoryOf = ({ organizationId, deploymentId }: CrewOwner): string =>
  `${repositoriesOf(organizationId)}/crew-${deploymentId}`

/** Returns an image by its digest, as nodes pull it. */
export const imageOf = (builder: ImageBuilder, owner: CrewOwner, digest: string): string =>
  `${builder.pullAddress}/${repositoryOf(owner)}@${digest}`

/** Returns what the build of an automation's image needs. */
export function planBuild(builder: ImageBuilder, owner: CrewOwner): Build {
  const repository = `${builder.registry}/${repositoryOf(owner)}`
  const dockerConfig = dockerConfigOf(builder, owner, 'push')
  return { builder, repository, dockerConfig }
}

/** The credentials with which nodes pull the images of an organization; none are asked for. */
export function pullSecret(
  builder: ImageBuilder,
  owner: CrewOwner,
  { namespace, pull, labels }: CrewNames,
): KubernetesObject | undefined {
  const config = dockerConfigOf(builder, owner, 'pull')
  return config === undefined
    ? undefined
    : {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: pull, namespace, labels },
        type: 'kubernetes.io/dockerconfigjson',
        data: toSecretData({ '.dockerconfigjson': config }),
      }
}

function dockerConfigOf(
  { registry, pullAddress, registryKey }: ImageBuilder,
  { organizationId }: CrewOwner,
  action: RegistryAction,
): string | undefined {
  if (registryKey === undefined) return undefined
  const { username, password } = registryCredential(registryKey, organizationId, action)
  const auth = Buffer.from(`${username}:${password}`).toString('base64')
  const host = action === 'push' ? registry : pullAddress
  return JSON.stringify({ auths: { [host]: { username, password, auth } } })
}
