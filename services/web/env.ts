import * as v from 'valibot'
import {
  crewMaximaEnv,
  crewReachEnv,
  crewStorageEnv,
  upstreamStorageEnv,
} from '../platform/crews/crew-limits.ts'
import { retirementList } from '../platform/connections/model-retirements.ts'
import { ORGANIZATION_ROLES } from '../platform/people/memberships.ts'
import { LIMIT_MAX, queueLimitEnv } from '../platform/people/organization-limits.ts'
import { databaseEnv } from '../shared/postgres/address.ts'
import {
  flag,
  httpUrl,
  integer,
  logLevel,
  optional,
  origins,
  quantity,
  text,
} from '../shared/env.ts'
import type { EnvOf } from '../shared/env.ts'
import { oneOf } from '../shared/schemas.ts'
import { proxyEnv } from '../shared/outgoing/forward-proxy.ts'
import { isMailAddress, isMailUrl } from './mail/mailer.ts'
import { groupRules } from './sign-in/oidc/group-rules.ts'

/** The kinds of installation (SPEC 4.1), which decide whether the diagnostic endpoint exists. */
export const PROVIDERS = ['kubernetes', 'managed_kubernetes', 'serverless', 'local'] as const

const variables = v.object({
  ...databaseEnv,
  /** The volume of the main database, such as `20Gi`: the report says a month before it is full. */
  DB_VOLUME_SIZE: optional(quantity()),
  PORT: v.optional(integer(0, 65_535), '3000'),
  HOST: v.optional(text(), '0.0.0.0'),
  LOG_LEVEL: logLevel,
  ...proxyEnv,
  PLATFORM_SELF_HOSTED: v.optional(flag(), 'false'),
  PLATFORM_PROVIDER: v.optional(oneOf(PROVIDERS), 'kubernetes'),
  PLATFORM_VERSION: text(),
  PLATFORM_BASE_URL: httpUrl(),
  PLATFORM_API_PREFIX: v.optional(
    v.pipe(
      v.string(),
      v.regex(
        /^[a-z0-9][a-z0-9_-]{0,62}$/,
        'must be one path segment of lower-case letters, digits, - and _',
      ),
    ),
    'platform',
  ),
  PLATFORM_DEBUG_TOKEN: optional(text()),
  SECRET_KEY_BASE: text(32),
  /** The one before, while it is rotated: still opens what it sealed. */
  SECRET_KEY_BASE_PREVIOUS: optional(text(32)),
  /**
   * The number of own proxies in front of this service; only their entries in X-Forwarded-For
   * count.
   */
  TRUSTED_PROXIES: v.optional(integer(0, 10), '0'),
  /**
   * Origins of identity providers that may have private addresses, with commas between them; one
   * with http:// is read without TLS.
   */
  AUTOMATION_OAUTH_PRIVATE_ORIGINS: v.optional(origins(), ''),
  /** Origins on private networks that LLM connections of organizations may name. */
  LLM_PRIVATE_ORIGINS: v.optional(origins(), ''),
  /** Origins on private networks that webhooks may name; one with http:// needs no TLS. */
  WEBHOOK_PRIVATE_ORIGINS: v.optional(origins(), ''),
  /** Origins on private networks that the tools of crews may name. */
  TOOL_PRIVATE_ORIGINS: v.optional(origins(), ''),
  /**
   * The time for which the last keys of an identity provider serve while it is unavailable, beyond
   * their 10 minutes; 0: not at all.
   */
  AUTOMATION_OAUTH_STALE_HOURS: v.optional(integer(0, 24), '24'),
  PLATFORM_OAUTH_API_BASE_URL: optional(httpUrl()),
  PLATFORM_OAUTH_API_KEY: optional(text(32)),
  /** The longest life of static tokens that people issue, in days; 0: as long as they like. */
  STATIC_TOKEN_DAYS_MAX: v.optional(integer(0, 3650), '0'),
  /** The calls of the APIs in a minute with one token, or by one OAuth client; 0: no limit. */
  TOKEN_CALLS_PER_MINUTE: v.optional(integer(0, LIMIT_MAX), '6000'),
  /** The calls of the APIs in a minute by one organization; 0: no limit. */
  ORGANIZATION_CALLS_PER_MINUTE: v.optional(integer(0, LIMIT_MAX), '30000'),
  ...queueLimitEnv,
  /** The namespace of the crews. */
  K8S_NAMESPACE: optional(text()),
  RELEASE_NAME: optional(text()),
  /** The beginning of the names of the release's objects. @default RELEASE_NAME */
  RELEASE_FULLNAME: optional(text()),
  POD_NAME: optional(text()),
  POD_NAMESPACE: optional(text()),
  /**
   * The components that the chart deployed, such as `web,worker,collector`; the diagnostic report
   * expects them.
   */
  PLATFORM_DEPLOYMENTS: optional(componentList()),
  /** The port of the metrics, which are not served without it. */
  METRICS_PORT: optional(integer(0, 65_535)),
  /** The kind of identity provider; `local` is none: people sign in with a password. */
  AUTH_PROVIDER: v.optional(
    v.pipe(v.string(), v.regex(/^[a-z0-9_-]{1,40}$/, 'must be a word such as local, oidc or okta')),
    'local',
  ),
  /** `off`: people sign in through the identity provider only. */
  AUTH_PASSWORDS: v.optional(oneOf(['on', 'off'] as const), 'on'),
  OIDC_ISSUER_URL: optional(httpUrl()),
  OIDC_CLIENT_ID: optional(text()),
  OIDC_CLIENT_SECRET: optional(text()),
  /** The scopes of the sign-in; some providers send groups only on request. */
  OIDC_SCOPES: v.optional(
    v.pipe(
      v.string(),
      v.regex(/(^| )openid( |$)/, 'must name the scope openid, and others with spaces between'),
    ),
    'openid profile email',
  ),
  /**
   * The claim, or the path to it with dots between, that makes a platform-admin if it is or holds
   * the value.
   */
  OIDC_ADMIN_CLAIM: optional(text()),
  OIDC_ADMIN_VALUE: optional(text()),
  /** The claim, or the path to it, whose values OIDC_GROUPS maps to memberships. */
  OIDC_GROUPS_CLAIM: optional(text()),
  /** Rules such as `crew-admins -> Acme: admin`, with semicolons or line breaks between them. */
  OIDC_GROUPS: optional(groupRules()),
  /** The role in the first organization of people whom no group puts anywhere. */
  OIDC_DEFAULT_ROLE: v.optional(oneOf(['none', ...ORGANIZATION_ROLES]), 'viewer'),
  /** The server that sends mails with links, such as `smtps://user:password@host:465`. */
  SMTP_URL: optional(
    v.pipe(
      v.string(),
      v.check(isMailUrl, 'must be smtp://host:587 or smtps://user:password@host:465'),
    ),
  ),
  /** The sender of mails. @default crew-platform at the host of PLATFORM_BASE_URL */
  SMTP_FROM: optional(
    v.pipe(v.string(), v.check(isMailAddress, 'must be an address such as crews@example.com')),
  ),
  ...crewMaximaEnv,
  ...crewReachEnv,
  /** Crews from source are processes of this machine, as under `npm start`. */
  CREW_PROCESSES: v.optional(flag(), 'false'),
  ...crewStorageEnv,
  /** A public index that organizations reach through the tools index: https://pypi.org/simple. */
  TOOLS_UPSTREAM: optional(httpUrl()),
  /** What it asks for; a token alone goes with the name that PyPI has for tokens. */
  TOOLS_UPSTREAM_USERNAME: v.optional(text(), '__token__'),
  TOOLS_UPSTREAM_PASSWORD: optional(text()),
  /** Origins on private networks where the public index keeps its files. */
  TOOLS_UPSTREAM_PRIVATE_ORIGINS: v.optional(origins(), ''),
  ...upstreamStorageEnv,
  /**
   * The days on which providers turn models off, as JSON, in the place of the shipped ones:
   * `{"retirements":[{"models":["gpt-5"],"on":"2026-12-11","successor":"gpt-6.1-sol"}]}`.
   */
  MODEL_RETIREMENTS: optional(
    v.pipe(v.string(), v.parseJson(undefined, 'must be JSON'), retirementList),
  ),
  /** A JSON file of prices of models, which come before the shipped ones: as the collector's. */
  COLLECTOR_PRICES_FILE: optional(text()),
  COLLECTOR_URL: optional(httpUrl()),
  /** Where programs elsewhere reach the collector, as pages say it. @default COLLECTOR_URL */
  COLLECTOR_PUBLIC_URL: optional(httpUrl()),
  COLLECTOR_JWT_SECRET: optional(text(32)),
})

function componentList() {
  return v.pipe(
    v.string(),
    v.regex(/^[a-z0-9-]+(,[a-z0-9-]+)*$/, 'must be component names with commas between them'),
    v.transform((text): readonly string[] => text.split(',')),
  )
}

const CLAIMS = [
  ['OIDC_ADMIN_CLAIM', 'OIDC_ADMIN_VALUE'],
  ['OIDC_GROUPS_CLAIM', 'OIDC_GROUPS'],
] as const

/**
 * Requires what goes together: a provider with its client, a claim with its value. Runs even if
 * another variable is wrong.
 */
const oidcTogether = v.rawCheck<v.InferOutput<typeof variables>>(({ dataset, addIssue }) => {
  const given = v.parse(v.record(v.string(), v.unknown()), dataset.value)
  const isSet = (name: string): boolean => given[name] !== undefined && given[name] !== ''
  const miss = (key: string, message: string): void => {
    const value = given[key]
    addIssue({ message, path: [{ type: 'object', origin: 'value', input: given, key, value }] })
  }
  const isLocal = given['AUTH_PROVIDER'] === 'local'
  for (const name of ['OIDC_ISSUER_URL', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET']) {
    if (!isLocal && !isSet(name)) miss(name, 'is required unless AUTH_PROVIDER is "local"')
  }
  if (isLocal && given['AUTH_PASSWORDS'] === 'off') {
    miss('AUTH_PASSWORDS', 'must be "on" while AUTH_PROVIDER is "local": no one could sign in')
  }
  for (const [claim, value] of CLAIMS) {
    if (isSet(value) && !isSet(claim)) miss(claim, `is required with ${value}`)
    if (isSet(claim) && !isSet(value)) miss(value, `is required with ${claim}`)
  }
})

/** The variables of the web service. */
export const webEnv = v.pipe(variables, oidcTogether)

/** The variables as a manifest sets them. */
export type WebEnv = EnvOf<typeof webEnv>
/** The variables as the service reads them. */
export type WebConfig = v.InferOutput<typeof webEnv>
