import { once } from 'node:events'
import { createSecureServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { start as startGate } from '../../../../services/registry-gate/start.ts'
import { AppError } from '../../../../services/shared/errors.ts'
import { createLog } from '../../../../services/shared/log.ts'
import { createMutualTls } from '../../../../services/tasks/certificates.ts'
import type { MutualTls } from '../../../../services/tasks/certificates.ts'
import { lookAtBuilds } from '../../../../services/worker/build-checks/look-at-builds.ts'
import type { ImageBuilder } from '../../../../services/worker/deployments/kubernetes/cluster-settings.ts'
import { freePort } from '../../../support/free-port.ts'
import { startHttpServer } from '../../../support/http-server.ts'

const KEY = 'k'.repeat(64)
const tls = createMutualTls(['localhost'])
const filesOf = ({ authority, client }: MutualTls) => ({
  ca: authority,
  cert: client.certificate,
  key: client.key,
})

/** Takes callers with a certificate only, as BuildKit does. */
const server = createSecureServer({
  ca: tls.authority,
  cert: tls.server.certificate,
  key: tls.server.key,
  requestCert: true,
  rejectUnauthorized: true,
})
const stops: (() => Promise<unknown>)[] = []
let builder: ImageBuilder
let nobody: number

beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const registry = await startHttpServer((_, response) => void response.end('{}'))
  const log = createLog({ name: 'test', level: 'silent' })
  const env = { REGISTRY_URL: registry.url, REGISTRY_KEY: KEY, PORT: '0', HOST: '127.0.0.1' }
  const gate = await startGate(env, { log })
  stops.push(
    () => gate.stop(),
    () => registry.stop(),
  )
  nobody = await freePort()
  builder = {
    image: 'moby/buildkit:rootless',
    address: `tcp://localhost:${port}`,
    registry: new URL(gate.url).host,
    organizations: [],
    registryKey: KEY,
    certificates: async () => filesOf(tls),
    pullAddress: async () => 'localhost:30500',
    freeImages: async () => {},
  }
})

afterAll(async () => {
  server.close()
  for (const stop of stops) await stop()
})

describe('a look at builds', () => {
  it('finds BuildKit and the registry well, and when the certificates end', async () => {
    const { problems, certificates } = await lookAtBuilds(builder)
    expect(problems).toEqual([])
    expect(Object.keys(certificates)).toEqual(['client', 'BuildKit'])
    for (const end of Object.values(certificates))
      expect(new Date(end).getFullYear()).toBeGreaterThan(new Date().getFullYear() + 5)
  })

  it.each<[string, string, () => Partial<ImageBuilder>]>([
    ['nobody listens', 'buildkit_unreachable', () => ({ address: `tcp://localhost:${nobody}` })],
    [
      'BuildKit has the certificates of another authority',
      'buildkit_tls_failed',
      () => ({ certificates: async () => filesOf(createMutualTls(['localhost'])) }),
    ],
    [
      'BuildKit takes no caller of this authority',
      'buildkit_tls_failed',
      () => ({
        certificates: async () => ({
          ...filesOf(createMutualTls(['localhost'])),
          ca: tls.authority,
        }),
      }),
    ],
    [
      'the certificates are not there',
      'buildkit_tls_failed',
      () => ({
        certificates: () => Promise.reject(new AppError('unavailable', 'They cannot be read.')),
      }),
    ],
    [
      'the registry has another key',
      'build_registry_refused',
      () => ({ registryKey: 'o'.repeat(64) }),
    ],
    [
      'the registry is away',
      'build_registry_unreachable',
      () => ({ registry: `localhost:${nobody}` }),
    ],
    [
      'the Service has no node port',
      'pull_address_unusable',
      () => ({ pullAddress: () => Promise.reject(new AppError('unavailable', 'No port.')) }),
    ],
    [
      'nobody answers where nodes pull',
      'pull_address_unusable',
      () => ({ pullAddress: async () => `registry.localhost:${nobody}` }),
    ],
  ])('says so when %s', async (_, code, change) => {
    const { problems } = await lookAtBuilds({ ...builder, ...change() })
    expect(problems).toEqual([{ code, message: expect.stringMatching(/\w/) }])
    expect(JSON.stringify(problems)).not.toContain(KEY)
  })
})
