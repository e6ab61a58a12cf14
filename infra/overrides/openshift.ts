import type { ValuesOverrides } from '../values.ts'

/**
 * OpenShift, whose security context constraint `restricted-v2` assigns users and groups itself, and
 * whose router terminates TLS. BuildKit needs more rights than it grants.
 */
export const openshift = {
  global: { openshift: true },
  envVars: { PLATFORM_BASE_URL: 'https://platform.apps.example.com' },
  buildkit: { enabled: false },
  ingress: {
    enabled: true,
    className: 'openshift-default',
    annotations: { 'route.openshift.io/termination': 'edge' },
    host: 'platform.apps.example.com',
    oauthHost: 'oauth.apps.example.com',
  },
  oauth: { publicUrl: 'https://oauth.apps.example.com' },
  networkPolicy: { ingressNamespace: 'openshift-ingress' },
} satisfies ValuesOverrides
