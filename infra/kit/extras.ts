import type * as k8s from '../k8s.ts'
import type { Val } from '../template/expression.ts'
import { digest, isSet, sha256, shorten, text } from '../template/operators.ts'
import { part } from '../template/parts.ts'
import { each, when } from '../template/structure.ts'
import { values } from '../values.ts'
import type { Values } from '../values.ts'
import { nameOf } from './names.ts'

const extraEnv = nameOf('extra-env')

const EXTRA_ENV = {
  name: 'platform.extraEnvFrom',
  comment: 'The variables of extraEnvVars, and of the Secrets in envFromSecrets.',
}

/**
 * The operator's own variables. They come by reference, so they can never be named twice beside the
 * chart's own.
 */
export const extraEnvVars = {
  name: extraEnv,
  from: part(EXTRA_ENV, () => [
    when<k8s.EnvFromSource>(isSet(values.extraEnvVars), { configMapRef: { name: extraEnv } }),
    each<EnvFromSecret, k8s.EnvFromSource>(values.envFromSecrets, (item) => ({
      secretRef: { name: item('name') },
    })),
  ]),
  checksum: { 'checksum/extra-env': sha256(values.extraEnvVars) },
}

type EnvFromSecret = Values['envFromSecrets'][number]
type Mount = Values['extraSecretMounts'][number]

/** A name by the path: a Secret may be mounted at two paths, but a path has one mount. */
const volumeName = (kind: string, item: Item): Val<string> =>
  text`${kind}-${shorten(8, digest(item('mountPath')))}`

type Item = (key: keyof Mount) => Val<string>

const EXTRA_VOLUMES = {
  name: 'platform.extraVolumes',
  comment: 'The volumes of extraSecretMounts and extraConfigMapMounts.',
}

const EXTRA_MOUNTS = {
  name: 'platform.extraMounts',
  comment: 'Where containers have extraSecretMounts and extraConfigMapMounts.',
}

/**
 * The volumes with the operator's own files. Only Secrets and ConfigMaps, so that no value can take
 * a pod out of Pod Security "restricted".
 */
export const extraVolumes = part(EXTRA_VOLUMES, () => [
  each<Mount, k8s.Volume>(values.extraSecretMounts, (item) => ({
    name: volumeName('secret', item),
    secret: { secretName: item('name') },
  })),
  each<Mount, k8s.Volume>(values.extraConfigMapMounts, (item) => ({
    name: volumeName('config', item),
    configMap: { name: item('name') },
  })),
])

/** The mounts of the operator's own files in a container. */
export const extraMounts = part(EXTRA_MOUNTS, () => [
  each<Mount, k8s.VolumeMount>(values.extraSecretMounts, (item) => ({
    name: volumeName('secret', item),
    mountPath: item('mountPath'),
    readOnly: true,
  })),
  each<Mount, k8s.VolumeMount>(values.extraConfigMapMounts, (item) => ({
    name: volumeName('config', item),
    mountPath: item('mountPath'),
    readOnly: true,
  })),
])
