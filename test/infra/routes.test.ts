import { describe, expect, it } from 'vitest'
import { find, manifests } from './support/platform.ts'

describe('the ways in', () => {
  it('are an Ingress for web, and for oauth where it has a host', () => {
    const ingress = {
      enabled: true,
      className: 'public',
      host: 'platform.example.com',
      oauthHost: 'oauth.example.com',
      tlsSecret: 'certificate',
    }
    const { spec } = find(manifests({ ingress }), 'Ingress', 'web')
    expect(spec.ingressClassName).toBe('public')
    expect(spec.tls).toEqual([
      { secretName: 'certificate', hosts: ['platform.example.com', 'oauth.example.com'] },
    ])
    const backends = spec.rules.map(
      ({ host, http }: { host: string; http: { paths: readonly [{ backend: object }] } }) => [
        host,
        http.paths[0].backend,
      ],
    )
    expect(backends).toEqual([
      ['platform.example.com', { service: { name: 'demo-web', port: { name: 'http' } } }],
      ['oauth.example.com', { service: { name: 'demo-oauth', port: { name: 'http' } } }],
    ])
  })

  it('or HTTPRoutes of the Gateway API', () => {
    const httpRoute = {
      enabled: true,
      gateway: 'public',
      gatewayNamespace: 'gateways',
      host: 'platform.example.com',
    }
    const objects = manifests({ httpRoute })
    expect(find(objects, 'HTTPRoute', 'web').spec).toEqual({
      parentRefs: [{ name: 'public', namespace: 'gateways' }],
      hostnames: ['platform.example.com'],
      rules: [{ backendRefs: [{ name: 'demo-web', port: 80 }] }],
    })
    expect(find(objects, 'HTTPRoute', 'oauth')).toBeUndefined()
  })

  it('are none by default', () => {
    const kinds = new Set(manifests().map(({ kind }) => kind))
    expect(kinds).not.toContain('Ingress')
    expect(kinds).not.toContain('HTTPRoute')
    expect(kinds).not.toContain('PodMonitor')
  })
})

describe('PodMonitors', () => {
  it('read the same ports as the scrape annotations name', () => {
    const objects = manifests({ podMonitor: { enabled: true, labels: { team: 'a' } } })
    const endpoint = (name: string) => find(objects, 'PodMonitor', name).spec.podMetricsEndpoints
    expect(endpoint('collector')).toEqual([{ port: 'metrics', path: '/metrics', interval: '30s' }])
    expect(endpoint('worker')).toEqual([{ port: 'http', path: '/metrics', interval: '30s' }])
    expect(find(objects, 'PodMonitor', 'worker').metadata.labels).toMatchObject({ team: 'a' })
  })
})
