import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect, createServer } from 'node:tls'
import type { TLSSocket } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createMutualTls, isUsable } from '../../../services/tasks/certificates.ts'
import type { KeyedCertificate, MutualTls } from '../../../services/tasks/certificates.ts'

const HOST = 'platform-buildkit.platform'

let tls: MutualTls
let server: ReturnType<typeof createServer>

beforeAll(async () => {
  tls = createMutualTls([HOST, 'platform-buildkit'])
  const { server: own, authority: ca } = tls
  server = createServer(
    { cert: own.certificate, key: own.key, ca, requestCert: true, rejectUnauthorized: true },
    (socket: TLSSocket) => socket.end('in'),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})

afterAll(() => void server.close())

async function call(servername: string, client?: KeyedCertificate): Promise<string> {
  const { port } = server.address() as AddressInfo
  const keyed = client ? { cert: client.certificate, key: client.key } : {}
  const socket = connect({ host: '127.0.0.1', port, servername, ca: tls.authority, ...keyed })
  let text = ''
  for await (const chunk of socket) text += String(chunk)
  return text
}

describe('the certificates of builds', () => {
  it('let a client in whose certificate the authority signed', async () => {
    expect(await call(HOST, tls.client)).toBe('in')
    expect(await call('platform-buildkit', tls.client)).toBe('in')
  })

  it('let nobody in without one, with one of another authority or that of a server', async () => {
    for (const client of [undefined, createMutualTls([HOST]).client, tls.server]) {
      // With TLS 1.3 a client hears of it late, as an error or as an end.
      expect(await call(HOST, client).catch(() => '')).toBe('')
    }
  })

  it('have numbers that DER can write in no shorter way, whatever was drawn', () => {
    const numbers = Array.from({ length: 20 }, () => {
      const { authority, server: own, client } = createMutualTls([HOST])
      return [authority, own.certificate, client.certificate].map(
        (certificate) => new X509Certificate(certificate).serialNumber,
      )
    }).flat()
    for (const number of numbers) expect(number).toMatch(/^[4-7][0-9A-F]{31}$/)
    expect(new Set(numbers).size).toBe(60)
  })

  it('are of that server alone', async () => {
    await expect(call('another.platform', tls.client)).rejects.toThrow(/altnames/)
  })

  it('are usable with their own key, until some weeks before they end', () => {
    expect(isUsable(tls.client)).toBe(true)
    expect(isUsable({ ...tls.client, key: tls.server.key })).toBe(false)
    expect(isUsable({ certificate: '', key: '' })).toBe(false)
    expect(isUsable(tls.client, new Date(Date.now() + 9.9 * 365 * 86_400_000))).toBe(false)
  })
})
