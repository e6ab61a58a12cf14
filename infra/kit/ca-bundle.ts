import type * as k8s from '../k8s.ts'
import { any, isSet } from '../template/operators.ts'
import { part } from '../template/parts.ts'
import { when } from '../template/structure.ts'
import { values } from '../values.ts'

const { caBundle } = values.global

/** The directory of the operator's certificate authorities, which no other mount may take. */
export const CA_DIRECTORY = '/etc/platform/ca'
const FILE = 'ca.crt'

/** The file of the operator's certificate authorities, in every container of our programs. */
export const CA_FILE = `${CA_DIRECTORY}/${FILE}`

/** Holds while the operator names certificate authorities. */
export const hasCaBundle = any(isSet(caBundle.secret), isSet(caBundle.configMap))

const items = [{ key: caBundle.key, path: FILE }]

/** The Secret or the ConfigMap with the authorities. */
export const caVolumes = part(
  { name: 'platform.caVolume', comment: 'The certificate authorities of global.caBundle.' },
  () => [
    when<k8s.Volume>(isSet(caBundle.secret), {
      name: 'ca-bundle',
      secret: { secretName: caBundle.secret, items },
    }),
    when<k8s.Volume>(isSet(caBundle.configMap), {
      name: 'ca-bundle',
      configMap: { name: caBundle.configMap, items },
    }),
  ],
)

/** The mount of the authorities in a container. */
export const caMounts = part(
  { name: 'platform.caMount', comment: 'Where containers have global.caBundle.' },
  () => [
    when<k8s.VolumeMount>(hasCaBundle, {
      name: 'ca-bundle',
      mountPath: CA_DIRECTORY,
      readOnly: true,
    }),
  ],
)

/** Programs in Go read this directory beside the authorities of their image. */
export const caDirectoryVariable = when<k8s.EnvVar>(hasCaBundle, {
  name: 'SSL_CERT_DIR',
  value: CA_DIRECTORY,
})

/** Node trusts these authorities beside its own, for databases as for any other server. */
export const caVariable = when<k8s.EnvVar>(hasCaBundle, {
  name: 'NODE_EXTRA_CA_CERTS',
  value: CA_FILE,
})
