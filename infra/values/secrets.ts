import { group, string } from '../template/schema.ts'
import * as type from '../value-types.ts'

/** The secret values, and the Secret that may hold them instead. */
export const secrets = group(
  'Secret values. What is set here wins over what was generated, and is kept when it is ' +
    'removed again.',
  {
    existingSecret: type.objectName(
      'Secret of your own with all keys below; the chart then generates nothing. New ' +
        'content takes effect with the next upgrade, which restarts what reads it.',
    ),
    revision: string(
      '',
      'Any text. Another one restarts all pods that read secrets, for Secrets that an ' +
        'upgrade does not compare: those of `envFromSecrets`, and `existingSecret` while ' +
        '`rbac.create` is false.',
    ),
    PLATFORM_DEBUG_TOKEN: type.token(
      'Token for `GET /health/debug`; one of fewer than 32 characters may be guessed.',
    ),
    SECRET_KEY_BASE: type.secret('Key that signs sessions, and seals the keys of LLM connections.'),
    SECRET_KEY_BASE_PREVIOUS: type.formerSecret(
      'Former `SECRET_KEY_BASE`, still read while it is replaced.',
    ),
    PLATFORM_OAUTH_API_KEY: type.secret(
      'Key with which web and worker call the OAuth integration service.',
    ),
    OAUTH_ENCRYPTION_KEY: type.secret('Key that encrypts stored OAuth tokens.'),
    OAUTH_ENCRYPTION_KEY_PREVIOUS: type.formerSecret(
      'Former `OAUTH_ENCRYPTION_KEY`, still read while it is replaced.',
    ),
    OIDC_CLIENT_SECRET: string('', 'Secret of the client `auth.clientId`.', {
      pattern: /^[!-~]*$/,
      expected: 'printable ASCII characters without spaces, or ""',
    }),
    COLLECTOR_JWT_SECRET: type.secret('Shared secret that authenticates trace submissions.'),
    COLLECTOR_JWT_SECRET_PREVIOUS: type.formerSecret(
      'Former `COLLECTOR_JWT_SECRET`, still accepted while it is replaced.',
    ),
    REGISTRY_KEY: type.secret(
      'Key from which the credentials of the internal registry derive, one for each organization.',
    ),
    DB_PASSWORD: string(
      '',
      'Password of `envVars.DB_USER`. Empty means generated, when the chart manages PostgreSQL.',
    ),
  },
)

const reference = (key: string) =>
  group(`Where \`${key}\` is.`, {
    name: type.objectName('Secret of yours. Empty means none.'),
    key: type.dataKey(key, 'Key in that Secret.'),
  })

/** Secrets of the operator's own, one for each secret value. */
export const secretKeyRefs = group(
  'Secrets of your own, one for each value of `secrets`, wherever their name and key lie: the ' +
    'chart then neither generates nor copies it. Another value in such a Secret takes effect ' +
    'with another `secrets.revision`.',
  {
    PLATFORM_DEBUG_TOKEN: reference('PLATFORM_DEBUG_TOKEN'),
    SECRET_KEY_BASE: reference('SECRET_KEY_BASE'),
    SECRET_KEY_BASE_PREVIOUS: reference('SECRET_KEY_BASE_PREVIOUS'),
    PLATFORM_OAUTH_API_KEY: reference('PLATFORM_OAUTH_API_KEY'),
    OAUTH_ENCRYPTION_KEY: reference('OAUTH_ENCRYPTION_KEY'),
    OAUTH_ENCRYPTION_KEY_PREVIOUS: reference('OAUTH_ENCRYPTION_KEY_PREVIOUS'),
    OIDC_CLIENT_SECRET: reference('OIDC_CLIENT_SECRET'),
    COLLECTOR_JWT_SECRET: reference('COLLECTOR_JWT_SECRET'),
    COLLECTOR_JWT_SECRET_PREVIOUS: reference('COLLECTOR_JWT_SECRET_PREVIOUS'),
    REGISTRY_KEY: reference('REGISTRY_KEY'),
    DB_PASSWORD: reference('DB_PASSWORD'),
  },
)
