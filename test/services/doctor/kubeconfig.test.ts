import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openCluster } from '../../../services/doctor/kubernetes/cluster.ts'
import { authorityPath, localhostCertificate, localhostKey } from '../../support/tls.ts'
import { kubeconfigOf } from './support/landscape.ts'

const directory = mkdtempSync(join(tmpdir(), 'kubeconfig-'))
const authority = readFileSync(authorityPath, 'utf8')
const base64 = (text: string): string => Buffer.from(text).toString('base64')
let url: string

/** An API server that says how it was called. */
const server = createServer(
  { key: localhostKey, cert: localhostCertificate, requestCert: true, rejectUnauthorized: false },
  (request, response) => {
    const certificate = (request.socket as TLSSocket).getPeerCertificate().fingerprint256
    const { authorization } = request.headers
    response.end(JSON.stringify({ authorization, hasCertificate: certificate !== undefined }))
  },
)

beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterAll(() => {
  server.close()
  rmSync(directory, { recursive: true })
})

function write(name: string, config: object): string {
  const path = join(directory, name)
  writeFileSync(path, stringify(config))
  return path
}

/** A kubeconfig whose cluster has the authority of the server. */
function withAuthority(user: object) {
  const config = kubeconfigOf(url, user)
  const cluster = { server: url, 'certificate-authority-data': base64(authority) }
  return { ...config, clusters: [{ name: 'c', cluster }] }
}

async function call(path: string, context?: string) {
  const options = { kubeconfig: path, context, namespace: undefined }
  const env = { PATH: process.env['PATH'], HOME: directory }
  const cluster = await openCluster(options, env)
  return cluster.call({ method: 'GET', path: '/version' })
}

describe('a kubeconfig', () => {
  it('logs in with a token, over TLS of its own authority', async () => {
    const path = write('token', withAuthority({ token: 'secret' }))
    expect(await call(path)).toEqual({
      object: { authorization: 'Bearer secret', hasCertificate: false },
    })
  })

  it('does not trust another authority, unless it says so', async () => {
    const plain = kubeconfigOf(url)
    expect(await call(write('stranger', plain))).toMatchObject({ failure: { status: 0 } })
    const cluster = { server: url, 'insecure-skip-tls-verify': true }
    const path = write('insecure', { ...plain, clusters: [{ name: 'c', cluster }] })
    expect(await call(path)).toHaveProperty('object')
  })

  it('logs in with a client certificate, of files beside it or written in it', async () => {
    writeFileSync(join(directory, 'me.pem'), localhostCertificate)
    const path = write(
      'certificate',
      withAuthority({ 'client-certificate': 'me.pem', 'client-key-data': base64(localhostKey) }),
    )
    expect(await call(path)).toEqual({ object: { hasCertificate: true } })
  })

  it('logs in with the plugin of a cloud', async () => {
    const plugin = join(directory, 'plugin')
    writeFileSync(
      plugin,
      `#!/usr/bin/env node\nconst { apiVersion } = JSON.parse(process.env.KUBERNETES_EXEC_INFO)\n` +
        'const status = { token: `${process.argv[2]}-${process.env.REGION}` }\n' +
        "console.log(JSON.stringify({ kind: 'ExecCredential', apiVersion, status }))\n",
    )
    chmodSync(plugin, 0o755)
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: './plugin',
      args: ['token'],
      env: [{ name: 'REGION', value: 'north' }],
    }
    const path = write('exec', withAuthority({ exec }))
    expect(await call(path)).toMatchObject({ object: { authorization: 'Bearer token-north' } })
    const broken = { ...exec, command: 'no-such-plugin', installHint: 'Install the plugin.' }
    const failure = await call(write('no-plugin', withAuthority({ exec: broken })))
    expect(failure).toMatchObject({
      failure: { message: expect.stringMatching(/no-such-plugin failed.*Install the plugin\./s) },
    })
  })

  it('may be several files, of which the first wins', async () => {
    const { contexts, 'current-context': current } = withAuthority({})
    const first = write('first', { contexts, 'current-context': current })
    const second = write('second', withAuthority({ token: 'second' }))
    expect(await call(`${first}:${second}`)).toMatchObject({
      object: { authorization: 'Bearer second' },
    })
  })

  it.each([
    ['no YAML', 'a: [', /is no kubeconfig/],
    ['another shape', 'clusters: 1', /is no kubeconfig: clusters/],
    ['no current context', 'clusters: []', /has no current context: pass --context/],
  ])('with %s is explained', async (_, content, problem) => {
    const path = join(directory, 'broken')
    writeFileSync(path, content)
    await expect(call(path)).rejects.toThrow(problem)
  })

  it('that is not there, or does not have the context, is explained', async () => {
    await expect(call('/nowhere')).rejects.toThrow(/There is no kubeconfig at \/nowhere/)
    const path = write('other', kubeconfigOf('https://127.0.0.1:9'))
    await expect(call(path, 'prod')).rejects.toThrow(/no context "prod". It has: test\./)
  })

  it('of a kind that Kubernetes gave up is refused', async () => {
    const path = write('basic', kubeconfigOf('https://127.0.0.1:9', { username: 'me' }))
    await expect(call(path)).rejects.toThrow(/no longer has/)
  })
})
