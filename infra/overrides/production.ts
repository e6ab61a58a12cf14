import type { ValuesOverrides } from '../values.ts'

/** More than one of everything that is stateless, and room for half a year of traces. */
export const production = {
  envVars: { PLATFORM_BASE_URL: 'https://platform.example.com' },
  web: { replicaCount: 3 },
  oauth: { replicaCount: 2, publicUrl: 'https://oauth.example.com' },
  worker: { replicaCount: 3, resources: { limits: { cpu: '2', memory: '1Gi' } } },
  collector: {
    replicaCount: 2,
    config: { retentionWeeks: '26' },
    resources: { limits: { cpu: '1', memory: '1Gi' }, requests: { memory: '512Mi' } },
  },
  postgres: {
    storage: { size: '200Gi' },
    resources: { limits: { cpu: '4', memory: '8Gi' }, requests: { cpu: '1', memory: '4Gi' } },
  },
  ingress: {
    enabled: true,
    host: 'platform.example.com',
    oauthHost: 'oauth.example.com',
    tlsSecret: 'platform-certificate',
  },
  networkPolicy: { ingressNamespace: 'ingress' },
} satisfies ValuesOverrides
