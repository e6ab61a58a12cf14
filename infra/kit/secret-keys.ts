import type { Val } from '../template/expression.ts'
import { any, helper, isSet, orElse, pick, sha256 } from '../template/operators.ts'
import { values } from '../values.ts'
import { setWhen } from './env.ts'
import type { Reference } from './env.ts'
import { nameOf } from './names.ts'

const { existingSecret, revision, ...overrides } = values.secrets

export type SecretKey = keyof typeof overrides

/** Where the generated values are kept. */
export const platformSecret = nameOf('secrets')

/** Where the bootstrap Job keeps what cannot be generated again; no manifest makes it, so that none can empty it. */
export const keptSecret = nameOf('keys')

/** Where the operator's own values are. */
export const overridesSecret = nameOf('secrets-overrides')

/** The Secret that holds a key: the operator's own value where there is one, or else the generated one. */
export const secretName = (key: SecretKey): Val<string> =>
  helper(
    `platform.secretName.${key}`,
    pick(isSet(overrides[key]), overridesSecret, orElse(existingSecret, platformSecret)),
  )

/** A key of the platform's secrets: the operator's own value where there is one, or else the generated one. */
export const fromSecret = (
  key: SecretKey,
  { optional }: { optional?: boolean } = {},
): Reference => ({
  valueFrom: {
    secretKeyRef: {
      name: secretName(key),
      key,
      optional,
    },
  },
})

/** The key before: there while an operator gives it, or may have it in a Secret of their own. */
export const formerKey = (key: `${string}_PREVIOUS` & SecretKey) =>
  setWhen(any(isSet(overrides[key]), isSet(existingSecret)), fromSecret(key, { optional: true }))

/** What sessions are signed and LLM keys sealed with. */
export const secretKeyBase = {
  SECRET_KEY_BASE: fromSecret('SECRET_KEY_BASE'),
  SECRET_KEY_BASE_PREVIOUS: formerKey('SECRET_KEY_BASE_PREVIOUS'),
}

/** What OAuth tokens are sealed with. */
export const oauthEncryptionKey = {
  OAUTH_ENCRYPTION_KEY: fromSecret('OAUTH_ENCRYPTION_KEY'),
  OAUTH_ENCRYPTION_KEY_PREVIOUS: formerKey('OAUTH_ENCRYPTION_KEY_PREVIOUS'),
}

/** The pod annotation that restarts a workload when an operator changes one of its secrets (SPEC 5.1). */
export const secretsChecksum = (...keys: readonly SecretKey[]) => ({
  'checksum/secrets': sha256(existingSecret, revision, ...keys.map((key) => overrides[key])),
})
