import { helper, isSet, orElse, pick, sha256 } from '../template/operators.ts'
import { values } from '../values.ts'
import type { Reference } from './env.ts'
import { nameOf } from './names.ts'

const { existingSecret, ...overrides } = values.secrets

export type SecretKey = keyof typeof overrides

/** Where the generated values are kept. */
export const platformSecret = nameOf('secrets')

/** Where the operator's own values are. */
export const overridesSecret = nameOf('secrets-overrides')

/** A key of the platform's secrets: the operator's own value where there is one, or else the generated one. */
export const fromSecret = (
  key: SecretKey,
  { optional }: { optional?: boolean } = {},
): Reference => ({
  valueFrom: {
    secretKeyRef: {
      name: helper(
        `platform.secretName.${key}`,
        pick(isSet(overrides[key]), overridesSecret, orElse(existingSecret, platformSecret)),
      ),
      key,
      optional,
    },
  },
})

/** The pod annotation that restarts a workload when an operator changes one of its secrets (SPEC 5.1). */
export const secretsChecksum = (...keys: readonly SecretKey[]) => ({
  'checksum/secrets': sha256(existingSecret, ...keys.map((key) => overrides[key])),
})
