import type { Kubernetes } from '../shared/kubernetes/client.ts'
import { toSecretData } from '../shared/kubernetes/objects.ts'
import type { Log } from '../shared/log.ts'
import { createMutualTls, isUsable } from './certificates.ts'
import type { FollowConfig } from './env.ts'
import { getSecret, secretPath, succeed } from './platform-secret.ts'
import type { Values } from './platform-secret.ts'

/**
 * Gives BuildKit and its callers certificates, unless those that are there are still good for a
 * while. Another writer that was faster made some as well, and those stay. Raises `unavailable` and
 * `forbidden` with what to do.
 */
export async function ensureBuildCertificates(
  kubernetes: Kubernetes,
  { POD_NAMESPACE: namespace, BUILD_TLS_SECRET: name, BUILD_TLS_HOST: host }: FollowConfig,
  log: Log,
): Promise<void> {
  if (name === undefined || host === undefined) return
  const { resourceVersion, values } = await getSecret(kubernetes, { namespace, name })
  if (areUsable(values)) return log.info('the certificates of builds are there')
  const [short = host] = host.split('.')
  const { authority, server, client } = createMutualTls([host, `${host}.svc`, short])
  const data = toSecretData({
    'ca.pem': authority,
    'cert.pem': server.certificate,
    'key.pem': server.key,
    'client-cert.pem': client.certificate,
    'client-key.pem': client.key,
  })
  const body = { metadata: { resourceVersion }, data }
  const path = secretPath({ namespace, name })
  const result = await kubernetes({ method: 'PATCH', path, body })
  if ('failure' in result && result.failure.status === 409) return
  succeed(result, `write the Secret ${name}`)
  log.info(
    { secret: name },
    'the certificates of builds are new; restart BuildKit if it ran with others',
  )
}

const areUsable = (values: Values): boolean =>
  values.has('ca.pem') &&
  ['', 'client-'].every((who) =>
    isUsable({
      certificate: values.get(`${who}cert.pem`) ?? '',
      key: values.get(`${who}key.pem`) ?? '',
    }),
  )
