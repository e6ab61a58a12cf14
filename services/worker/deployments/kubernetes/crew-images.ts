import { toSecretData } from '../../../shared/kubernetes/objects.ts'
import type { KubernetesObject } from '../../../shared/kubernetes/objects.ts'
import { registryCredential } from '../../../shared/registry-credentials.ts'
import type { RegistryAction } from '../../../shared/registry-credentials.ts'
import type { CrewOwner } from '../crew-host.ts'
import { FETCH_SOURCE } from './build-job.ts'
import type { BuildAccess, BuildOrder } from './build-job.ts'
import type { ImageBuilder } from './cluster-settings.ts'
import type { DescribedCrew } from './crew-deployment.ts'
import type { CrewNames } from './crew-names.ts'
import { generateDockerfile } from './dockerfile.ts'
import { imageTag, repositoryOf } from './image-names.ts'

/** The longest time that the build of a crew may take. */
const BUILD_SECONDS = 3600

/** Returns an image by its digest, as nodes pull it. */
export const imageOf = async (
  builder: ImageBuilder,
  owner: CrewOwner,
  digest: string,
): Promise<string> => `${await builder.pullAddress()}/${repositoryOf(owner)}@${digest}`

/** Returns the order for the image of a crew. */
export async function orderBuild(
  builder: ImageBuilder,
  { wanted, names, cluster, sourceUrl, indexes, caBundle }: DescribedCrew,
): Promise<BuildOrder> {
  return {
    names,
    cluster,
    access: await accessFor(builder, wanted.owner),
    tag: imageTag(wanted.id),
    seconds: BUILD_SECONDS,
    getProject: FETCH_SOURCE,
    dockerfile: generateDockerfile(cluster.pythonImage),
    pythonVersion: wanted.settings.pythonVersion,
    sourceUrl,
    sourceDigest: wanted.source.archiveSha256,
    indexes,
    caBundle,
  }
}

/** Returns how a build reaches BuildKit, and the repository of an automation. */
export async function accessFor(builder: ImageBuilder, owner: CrewOwner): Promise<BuildAccess> {
  return {
    builder,
    organizationId: owner.organizationId,
    certificates: await builder.certificates(),
    repository: `${builder.registry}/${repositoryOf(owner)}`,
    dockerConfig: dockerConfigOf(builder, builder.registry, { owner, action: 'push' }),
  }
}

/** The credentials with which nodes pull an image of an organization. */
export function pullSecret(
  builder: ImageBuilder,
  { owner, image }: { readonly owner: CrewOwner; readonly image: string },
  { namespace, pull, labels }: CrewNames,
): KubernetesObject {
  const [host = ''] = image.split('/')
  const config = dockerConfigOf(builder, host, { owner, action: 'pull' })
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: pull, namespace, labels },
    type: 'kubernetes.io/dockerconfigjson',
    data: toSecretData({ '.dockerconfigjson': config }),
  }
}

function dockerConfigOf(
  { registryKey }: ImageBuilder,
  host: string,
  { owner, action }: { readonly owner: CrewOwner; readonly action: RegistryAction },
): string {
  const { username, password } = registryCredential(registryKey, owner.organizationId, action)
  const auth = Buffer.from(`${username}:${password}`).toString('base64')
  return JSON.stringify({ auths: { [host]: { username, password, auth } } })
}
