import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createKubernetes } from '../../../services/shared/kubernetes/client.ts'
import { createLog } from '../../../services/shared/log.ts'
import { ensureBuildCertificates } from '../../../services/tasks/build-certificates.ts'
import { startKubernetes } from '../../support/kubernetes.ts'
import type { KubernetesStub } from '../../support/kubernetes.ts'

const PATH = '/api/v1/namespaces/platform/secrets/platform-build-tls'
const config = {
  LOG_LEVEL: 'info' as const,
  POD_NAMESPACE: 'platform',
  PLATFORM_SECRET: 'platform-secrets',
  RESTART_DEPLOYMENTS: [],
  RESTART_POSTGRES: undefined,
  BUILD_TLS_SECRET: 'platform-build-tls',
  BUILD_TLS_HOST: 'platform-buildkit.platform',
}

let cluster: KubernetesStub
let lines: string[]

beforeEach(async () => {
  cluster = await startKubernetes()
  cluster.objects.set(PATH, { metadata: { resourceVersion: '1' } })
  lines = []
})

afterEach(() => cluster.stop())

const ensure = () => {
  const log = createLog({ name: 'tasks', destination: { write: (line) => void lines.push(line) } })
  return ensureBuildCertificates(createKubernetes(cluster.address), config, log)
}
const data = (): unknown => cluster.objects.get(PATH)?.['data']

describe('the certificates of builds', () => {
  it('are made once, and told without their keys', async () => {
    await ensure()
    const made = data()
    expect(Object.keys(made as object)).toEqual([
      'ca.pem',
      'cert.pem',
      'key.pem',
      'client-cert.pem',
      'client-key.pem',
    ])
    await ensure()
    expect(data()).toEqual(made)
    expect(lines.join('')).not.toMatch(/BEGIN|LS0t/)
  })

  it('are made anew when one of them is not usable', async () => {
    await ensure()
    const made = data()
    Object.assign(data() as object, { 'client-key.pem': '' })
    await ensure()
    expect(data()).not.toEqual(made)
  })

  it('are those of the writer that was faster', async () => {
    cluster.intercept = ({ method }) => {
      const object = cluster.objects.get(PATH)
      if (method === 'PATCH' && object) object.metadata['resourceVersion'] = '2'
      return false
    }
    await ensure()
    expect(data()).toBeUndefined()
  })
})
