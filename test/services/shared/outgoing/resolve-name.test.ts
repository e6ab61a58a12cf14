import dns from 'node:dns'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  fullNames,
  parseHosts,
  parseResolverSettings,
} from '../../../../services/shared/outgoing/resolve-name.ts'
import { createResolveName } from '../../../../services/shared/outgoing/resolve-name.ts'
import { startNameServer } from '../../../support/name-server.ts'
import type { Answers, NameServer } from '../../../support/name-server.ts'

const usual = dns.getServers()
let server: NameServer
let zone: Record<string, ReturnType<Answers>> = {}

beforeAll(async () => {
  server = await startNameServer((name) => zone[name])
  dns.setServers([server.address])
})

afterEach(() => {
  server.asked.length = 0
})

afterAll(async () => {
  dns.setServers(usual)
  await server.close()
})

function resolve(
  name: string,
  { hosts = '', resolver = '', signal = AbortSignal.timeout(50_000) },
) {
  const files = { hosts: parseHosts(hosts), settings: parseResolverSettings(resolver) }
  return createResolveName(() => files)(name, signal)
}
const CLUSTER =
  'search crews.svc.cluster.local svc.cluster.local cluster.local\n' +
  'nameserver 10.96.0.10\noptions ndots:5\n'

describe('a name', () => {
  it('of the hosts file needs no server', async () => {
    const hosts = '# ours\n192.168.7.7 Gateway gw # the box\nnonsense x\nfe80::1 gw\n'
    expect(await resolve('gateway', { hosts })).toEqual([{ address: '192.168.7.7', family: 4 }])
    expect(await resolve('GW', { hosts })).toHaveLength(2)
    expect(server.asked).toEqual([])
  })

  it('that is an address, or localhost, needs none either', async () => {
    expect(await resolve('10.1.2.3', {})).toEqual([{ address: '10.1.2.3', family: 4 }])
    expect(await resolve('[::1]', {})).toEqual([{ address: '::1', family: 6 }])
    for (const name of ['localhost', 'any.localhost', 'localhost.']) {
      expect((await resolve(name, {})).map(({ address }) => address)).toEqual(['127.0.0.1', '::1'])
    }
    expect(server.asked).toEqual([])
  })

  it('is found through the search domains, as in a cluster', async () => {
    zone = { 'model.model.svc.cluster.local': ['10.100.0.5'] }
    expect(await resolve('model.model.svc', { resolver: CLUSTER })).toEqual([
      { address: '10.100.0.5', family: 4 },
    ])
    expect(server.asked).toEqual([
      'model.model.svc.crews.svc.cluster.local',
      'model.model.svc.svc.cluster.local',
      'model.model.svc.cluster.local',
    ])
  })

  it('has its IPv4 addresses first, and both kinds', async () => {
    zone = { 'both.test': ['2606:4700:0:0:0:0:0:1111', '1.1.1.1'] }
    expect((await resolve('both.test', {})).map(({ family }) => family)).toEqual([4, 6])
  })

  it('that nobody has is nothing, and a server that fails is an error', async () => {
    zone = { 'broken.test': 'fail' }
    expect(await resolve('none.test', {})).toEqual([])
    await expect(resolve('broken.test', {})).rejects.toMatchObject({ code: 'ESERVFAIL' })
  })

  it('is given up when the signal says so', async () => {
    zone = { 'silent.test': 'swallow' }
    const signal = AbortSignal.timeout(50)
    await expect(resolve('silent.test', { signal })).rejects.toMatchObject({ code: 'ECANCELLED' })
  })
})

describe('the order of full names (resolv.conf(5))', () => {
  it.each([
    ['a.b', 'search x y', ['a.b', 'a.b.x', 'a.b.y']],
    ['a', 'search x y', ['a.x', 'a.y', 'a']],
    ['a.b', 'search x\noptions timeout:1 ndots:2', ['a.b.x', 'a.b']],
    ['a.b.', 'search x\noptions ndots:5', ['a.b']],
    ['a', 'search x\ndomain z.', ['a.z', 'a']],
    ['a', '', ['a']],
    ['a', '; search x\n# search y', ['a']],
  ])('of %s with %j', (name, resolver, expected) =>
    expect(fullNames(name, parseResolverSettings(resolver))).toEqual(expected),
  )
})
