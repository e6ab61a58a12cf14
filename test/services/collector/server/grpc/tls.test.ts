import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { credentials } from '@grpc/grpc-js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openGrpc } from '../../support/grpc.ts'
import { createHarness } from '../../support/harness.ts'
import type { Harness } from '../../support/harness.ts'
import { requestOf, spanOf, toProtobuf } from '../../support/otlp.ts'

const hasOpenssl = spawnSync('openssl', ['version']).status === 0

describe.skipIf(!hasOpenssl)('OTLP over gRPC with TLS', () => {
  const directory = mkdtempSync(join(tmpdir(), 'certificate-'))
  let harness: Harness
  beforeAll(async () => {
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1']
    const files = ['-keyout', join(directory, 'tls.key'), '-out', join(directory, 'tls.crt')]
    const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-x509']
    execFileSync('openssl', ['req', ...kind, ...subject, ...files], { stdio: 'ignore' })
    harness = await createHarness({ GRPC_PORT: '0', GRPC_TLS_DIRECTORY: directory })
  })
  afterAll(async () => {
    await harness.stop()
    rmSync(directory, { recursive: true })
  })

  it('takes spans of a client that trusts the certificate, and of no other', async () => {
    const url = harness.collector.grpcUrl ?? ''
    expect(url).toMatch(/^https:/)
    const authority = readFileSync(join(directory, 'tls.crt'))
    const trusting = openGrpc(url, { credentials: credentials.createSsl(authority) })
    expect((await trusting.send(toProtobuf(requestOf(spanOf())))).code).toBe(0)
    const others = [credentials.createSsl(), credentials.createInsecure()]
    for (const one of others) {
      const client = openGrpc(url, { credentials: one })
      expect((await client.send(Buffer.alloc(0))).code).toBe(14)
      client.close()
    }
    trusting.close()
  })

  it('does not start without a certificate where one is promised', async () => {
    const started = harness.another({ GRPC_PORT: '0', GRPC_TLS_DIRECTORY: '/nowhere' })
    await expect(started).rejects.toThrow('GRPC_TLS_DIRECTORY must have tls.crt and tls.key')
  })
})
