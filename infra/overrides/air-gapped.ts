import type { ValuesOverrides } from '../values.ts'

/** A cluster without a way out: every image comes from one mirror, and from one path in it. */
export const airGapped = {
  global: {
    image: {
      registry: 'mirror.example.internal:5000',
      namePrefixOverride: 'platform-mirror',
      pullSecret: 'mirror-credentials',
    },
  },
  envVars: { PLATFORM_BASE_URL: 'https://platform.example.internal' },
} satisfies ValuesOverrides
