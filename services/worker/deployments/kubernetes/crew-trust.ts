import { plainVariables, RESTRICTED_CONTAINER } from '../../../shared/kubernetes/objects.ts'
import type { CrewCluster } from './cluster-settings.ts'

/** The key of a Secret with the operator's certificate authorities. */
export const CA_KEY = 'ca.crt'

const GIVEN = '/etc/platform/given-ca'
const DIRECTORY = '/etc/platform/ca'
const FILE = `${DIRECTORY}/${CA_KEY}`

/** By one of these each of OpenSSL, uv, requests, curl and Node.js finds authorities. */
const VARIABLES = {
  SSL_CERT_FILE: FILE,
  REQUESTS_CA_BUNDLE: FILE,
  CURL_CA_BUNDLE: FILE,
  NODE_EXTRA_CA_CERTS: FILE,
}

/**
 * Most programs read one file instead of those of their image: it begins with the public
 * authorities of the image with Python, and ends with the operator's.
 */
const JOIN = `for file in /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt; do
  if [ -f "$file" ]; then cat "$file"; echo; break; fi
done >${FILE}
cat ${GIVEN}/${CA_KEY} >>${FILE}
`

/** What a pod gets so that its programs trust the operator's certificate authorities. */
export interface Trust {
  readonly initContainers: readonly object[]
  readonly volumes: readonly object[]
  readonly mounts: readonly object[]
  readonly variables: Readonly<Record<string, string>>
}

const NONE: Trust = { initContainers: [], volumes: [], mounts: [], variables: {} }

interface TrustingPod {
  readonly cluster: Pick<CrewCluster, 'pythonImage' | 'pullPolicy'>
  /** In PEM. @default there are none of the operator's own */
  readonly caBundle?: string | undefined
  /** The Secret that has them under `CA_KEY`. */
  readonly secretName: string
}

/** Returns the parts of a pod for the operator's certificate authorities. */
export function trustOf({ cluster, caBundle, secretName }: TrustingPod): Trust {
  if (caBundle === undefined) return NONE
  const given = { name: 'given-ca', mountPath: GIVEN, readOnly: true }
  const joined = { name: 'ca', mountPath: DIRECTORY }
  return {
    initContainers: [
      {
        name: 'trust',
        image: cluster.pythonImage,
        imagePullPolicy: cluster.pullPolicy,
        command: ['sh', '-euc', JOIN],
        env: plainVariables({ HOME: '/tmp' }),
        resources: {
          requests: { cpu: '10m', memory: '16Mi' },
          limits: { cpu: '200m', memory: '64Mi' },
        },
        volumeMounts: [given, joined],
        securityContext: RESTRICTED_CONTAINER,
      },
    ],
    volumes: [
      { name: 'given-ca', secret: { secretName, items: [{ key: CA_KEY, path: CA_KEY }] } },
      { name: 'ca', emptyDir: { sizeLimit: '4Mi' } },
    ],
    mounts: [{ ...joined, readOnly: true }],
    variables: VARIABLES,
  }
}
