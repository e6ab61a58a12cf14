import { describe, expect, it } from 'vitest'
import { createForwardProxy } from '../../services/shared/outgoing/forward-proxy.ts'
import type { ValuesOverrides } from '../../infra/values.ts'
import { containersOf, manifests, podsOf } from './support/platform.ts'
import type { Manifest } from './support/platform.ts'

const PROXY = 'http://proxy.corp.example:3128'
const NAMES = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY']

/** The variables of a proxy in each container that has any, by the container's name. */
const proxied = (proxy: object): Readonly<Record<string, Readonly<Record<string, string>>>> => {
  const overrides: ValuesOverrides = {
    global: { proxy },
    backup: { enabled: true, passphraseSecret: 'backup' },
  }
  const found = podsOf(manifests(overrides)).flatMap(({ pod }) =>
    containersOf(pod).map(({ name, env = [] }: Manifest) => {
      const own = env.filter((each: Manifest) => NAMES.includes(each.name))
      return [
        name,
        Object.fromEntries(own.map((each: Manifest) => [each.name, each.value])),
      ] as const
    }),
  )
  return Object.fromEntries(found.filter(([, own]) => Object.keys(own).length > 0))
}

describe('global.proxy', () => {
  const noProxy = '.corp.example,10.0.0.0/8'
  const all = proxied({ http: PROXY, https: PROXY, noProxy })

  it('is known to the programs that call what is outside of the cluster, and to no others', () => {
    expect(Object.keys(all).toSorted()).toEqual(
      ['assistant', 'backup', 'buildkitd', 'oauth', 'runner', 'web', 'worker'].toSorted(),
    )
    for (const own of Object.values(all)) {
      expect(own).toMatchObject({ HTTP_PROXY: PROXY, HTTPS_PROXY: PROXY })
    }
    expect(proxied({})).toEqual({})
  })

  it('is never asked for what is inside, whoever reads the list', () => {
    const { NO_PROXY = '' } = all['web'] ?? {}
    const list = NO_PROXY.replace('$(KUBERNETES_SERVICE_HOST)', '172.20.0.1')
    const rules = createForwardProxy({ HTTP_PROXY: new URL(PROXY), NO_PROXY: list })
    const inside = [
      'http://demo-web.prod',
      'http://demo-oauth:3002',
      'http://demo-collector.prod:8080',
      'http://demo-internal-registry:5000',
      'http://vllm.models.svc',
      'http://vllm.models.svc.cluster.local:8000',
      'http://172.20.0.1:443',
      'http://localhost:5000',
      'http://git.corp.example',
      'http://10.1.2.3',
    ]
    expect(inside.filter((address) => rules.proxyFor(new URL(address)))).toEqual([])
    expect(rules.proxyFor(new URL('http://api.openai.com'))?.url.origin).toBe(PROXY)
    expect(list).not.toMatch(/\s/)
  })

  it('may come from a Secret by envFromSecrets, and the list from here', () => {
    const own = proxied({ noProxy })
    expect(own['web']).toEqual({ NO_PROXY: expect.stringMatching(/,10\.0\.0\.0\/8$/) })
  })

  it('is an address of a proxy', () => {
    expect(() => proxied({ https: 'socks5://proxy.corp' })).toThrow(/global\.proxy\.https/)
    expect(() => proxied({ https: 'http://user:secret@proxy.corp' })).toThrow(
      /global\.proxy\.https/,
    )
  })
})
