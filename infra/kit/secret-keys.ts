import type { Val } from '../template/expression.ts'
import { helperWith } from '../template/named.ts'
import { any, isSet, orElse, pick, sha256 } from '../template/operators.ts'
import type { Condition } from '../template/operators.ts'
import { part } from '../template/parts.ts'
import type { Templated } from '../template/structure.ts'
import { values } from '../values.ts'
import { setWhen, unset } from './env.ts'
import type { Reference } from './env.ts'
import { nameOf } from './names.ts'

const { secretKeyRefs } = values
const { existingSecret, revision, ...overrides } = values.secrets

/** A key of the platform's Secret. */
export type SecretKey = keyof typeof overrides

/** All of them. */
// oxlint-disable-next-line typescript/consistent-type-assertions -- these are its keys
export const SECRET_KEYS = Object.keys(overrides) as readonly SecretKey[]

/** Argo CD must have these before the bootstrap Job runs. */
export const beforeBootstrap = { 'argocd.argoproj.io/sync-wave': '-2' }

/** The name of the Secret with the generated values. */
export const platformSecret = nameOf('secrets')

/**
 * The name of the Secret with a copy of the keys that cannot be generated again. The bootstrap Job
 * makes it; no manifest does, so that none can empty it.
 */
export const keptSecret = nameOf('keys')

/** The name of the Secret with the operator's own values. */
export const overridesSecret = nameOf('secrets-overrides')

/** Holds while a key is in a Secret of the operator's own under a name of its own. */
export const isReferenced = (key: SecretKey): Condition => isSet(secretKeyRefs[key].name)

/**
 * The Secret that holds a key: the one that the operator names for it, or the one with the
 * operator's own value, or else the generated one.
 */
export const secretName = (key: SecretKey): Val<string> =>
  nameOfSecret({ reference: secretKeyRefs[key], value: overrides[key] })

const nameOfSecret = helperWith(
  {
    name: 'platform.secretName',
    comment:
      'The Secret that holds a key: the one that secretKeyRefs names, or the one of the values ' +
      'in secrets, or else secrets.existingSecret or the generated one.',
  },
  ({ reference, value }: { reference: KeyReference; value: Val<string> }) =>
    orElse(
      reference.name,
      pick(isSet(value), overridesSecret, orElse(existingSecret, platformSecret)),
    ),
)

type KeyReference = (typeof secretKeyRefs)[SecretKey]

/** The name of a key in the Secret that holds it. */
export const keyIn = (key: SecretKey): Val<string> => secretKeyRefs[key].key

/**
 * A key of the platform's secrets: the operator's own value where there is one, or else the
 * generated one.
 */
export const fromSecret = (
  key: SecretKey,
  { optional }: { optional?: Templated<boolean> } = {},
): Reference => ({
  valueFrom: {
    secretKeyRef: {
      name: secretName(key),
      key: keyIn(key),
      optional,
    },
  },
})

/** A former key: set while the operator gives it, or may have it in a Secret of their own. */
export const formerKey = (key: `${string}_PREVIOUS` & SecretKey) =>
  setWhen(
    any(isReferenced(key), isSet(overrides[key]), isSet(existingSecret)),
    fromSecret(key, { optional: true }),
  )

/** The key that signs sessions and seals LLM keys, with the former one. */
export const secretKeyBase = part(
  {
    name: 'platform.secretKeyBase',
    comment: 'The key that signs sessions and seals LLM keys, with the former one.',
  },
  () => ({
    SECRET_KEY_BASE: fromSecret('SECRET_KEY_BASE'),
    SECRET_KEY_BASE_PREVIOUS: formerKey('SECRET_KEY_BASE_PREVIOUS'),
  }),
)

/** The same variables for programs that sign no session and open no LLM key. */
export const noSecretKeyBase = { SECRET_KEY_BASE: unset, SECRET_KEY_BASE_PREVIOUS: unset }

/** The key that seals OAuth tokens, with the former one. */
export const oauthEncryptionKey = part(
  {
    name: 'platform.oauthEncryptionKey',
    comment: 'The key that seals OAuth tokens, with the former one.',
  },
  () => ({
    OAUTH_ENCRYPTION_KEY: fromSecret('OAUTH_ENCRYPTION_KEY'),
    OAUTH_ENCRYPTION_KEY_PREVIOUS: formerKey('OAUTH_ENCRYPTION_KEY_PREVIOUS'),
  }),
)

/** The same variables for programs that open no OAuth token. */
export const noOauthEncryptionKey = {
  OAUTH_ENCRYPTION_KEY: unset,
  OAUTH_ENCRYPTION_KEY_PREVIOUS: unset,
}

/** The pod annotation that restarts a workload when one of its secrets changes (SPEC 5.1). */
export const secretsChecksum = (...keys: readonly SecretKey[]) => ({
  'checksum/secrets': sha256(existingSecret, revision, ...keys.map((key) => overrides[key])),
})
