import * as v from 'valibot'
import { httpUrl, integer, logLevel, optional, text } from '../shared/env.ts'
import type { EnvOf } from '../shared/env.ts'

/** The variables of the registry's gate. */
export const registryGateEnv = v.object({
  PORT: v.optional(integer(0, 65_535), '5000'),
  HOST: v.optional(text(), '0.0.0.0'),
  LOG_LEVEL: logLevel,
  /** The registry, which nobody else may reach. */
  REGISTRY_URL: httpUrl(),
  /** The key from which the credentials of organizations derive; without it nobody gets in. */
  REGISTRY_KEY: optional(text(32)),
})

/** The variables as a manifest sets them. */
export type RegistryGateEnv = EnvOf<typeof registryGateEnv>
