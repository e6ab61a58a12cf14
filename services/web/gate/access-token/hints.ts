import { claimOf } from './rule.ts'
import type { Facts, JsonObject, Reason } from './rule.ts'

/** A token with the reasons to refuse it. */
interface Symptoms {
  readonly token: string
  readonly reasons: readonly Reason[]
  /** Absent when the token could not be read. */
  readonly facts?: Facts
}

interface Hint {
  readonly applies: (symptoms: { reasons: readonly Reason[]; facts: Facts }) => boolean
  readonly text: string
}

const text = (object: JsonObject, name: string): string => {
  const value = claimOf(object, name)
  return typeof value === 'string' ? value : ''
}
const has = (object: JsonObject, name: string): boolean => Object.hasOwn(object, name)
const isEntra = ({ claims }: Facts): boolean =>
  /^https:\/\/(login\.microsoftonline\.com|sts\.windows\.net)\//.test(text(claims, 'iss'))
const isKeycloak = ({ claims }: Facts): boolean => /\/realms\/[^/]+$/.test(text(claims, 'iss'))
const isCognito = ({ claims }: Facts): boolean =>
  has(claims, 'token_use') || text(claims, 'iss').startsWith('https://cognito-idp.')
const isOktaOrganization = ({ claims, header }: Facts): boolean =>
  text(header, 'typ') === 'application/okta-internal-at+jwt' ||
  /^https:\/\/[^/]+\.okta(preview)?\.com$/.test(text(claims, 'iss'))
const withoutSlash = (url: string): string => url.replace(/\/$/, '')

/** Advice for mistakes that are common with one identity provider. */
const HINTS: readonly Hint[] = [
  {
    applies: ({ facts }) => isOktaOrganization(facts),
    text:
      'Okta: this token comes from the org authorization server, whose tokens are for Okta ' +
      'itself. Create a custom authorization server (Security, API) and use its issuer, ' +
      'https://<domain>/oauth2/<id>.',
  },
  {
    applies: ({ facts }) =>
      isEntra(facts) && (text(facts.claims, 'ver') === '1.0' || has(facts.claims, 'appid')),
    text:
      'Entra ID: this is a v1 token, which names its client in appid only. Set ' +
      'requestedAccessTokenVersion to 2 in the manifest of the API application; the issuer ' +
      'then ends in /v2.0.',
  },
  {
    applies: ({ facts }) => isEntra(facts) && has(facts.header, 'nonce'),
    text:
      'Entra ID: this token is for Microsoft Graph, and only Graph can check it. Ask for the ' +
      'scope api://<application id>/.default.',
  },
  {
    applies: ({ reasons, facts }) => isEntra(facts) && reasons.includes('wrong_audience'),
    text:
      'Entra ID: the audience is the application id (a GUID) of the API application, never a ' +
      'URL. Add it to the audiences.',
  },
  {
    applies: ({ reasons, facts }) =>
      reasons.includes('insufficient_scope') &&
      has(facts.claims, 'roles') &&
      facts.policy.scopeClaim === 'scope',
    text:
      'Entra ID: tokens of the client credentials grant carry application roles, not scopes. ' +
      'Give the client an application role of the name of the scope, and look for it in roles.',
  },
  {
    applies: ({ reasons, facts }) => reasons.includes('wrong_audience') && isKeycloak(facts),
    text:
      'Keycloak: add a mapper of the type Audience to the client (or to a client scope) with ' +
      'the base URL of this platform as Included Custom Audience.',
  },
  {
    applies: ({ reasons, facts }) => reasons.includes('wrong_audience') && isCognito(facts),
    text:
      'Cognito: its access tokens name no audience. Allow tokens without an audience; the ' +
      'client is checked all the same.',
  },
  {
    applies: ({ reasons, facts }) =>
      reasons.includes('insufficient_scope') &&
      [text(facts.claims, 'scope'), text(facts.claims, 'scp')].some((all) =>
        all.split(' ').some((each) => each.endsWith(`/${facts.policy.scope}`)),
      ),
    text:
      'Cognito: scopes carry the identifier of the resource server in front. Enter the whole ' +
      'scope, such as automations/platform_automations.',
  },
  {
    applies: ({ reasons, facts }) =>
      reasons.includes('wrong_issuer') &&
      withoutSlash(text(facts.claims, 'iss')) === withoutSlash(facts.policy.issuer),
    text:
      'The issuers differ by a slash at the end only. They are compared byte for byte (Auth0 ' +
      'has the slash, Okta and Keycloak do not): copy the one from the token.',
  },
  {
    applies: ({ facts }) => /^HS\d/.test(text(facts.header, 'alg')),
    text:
      'Auth0: the API is set to sign with HS256, a shared secret. Set its signing algorithm to ' +
      'RS256.',
  },
  {
    applies: ({ reasons }) => reasons.includes('id_token'),
    text:
      'This looks like an ID token. Send the access_token of the token response, from the ' +
      'client credentials grant.',
  },
  {
    applies: ({ reasons }) => reasons.includes('sender_constrained'),
    text: 'The token is bound to a key of its client (DPoP or mTLS). Ask for a plain bearer token.',
  },
  {
    applies: ({ reasons }) => reasons.includes('lifetime_too_long'),
    text:
      'Shorten the lifetime of access tokens at the provider, or raise the longest lifetime ' +
      'here.',
  },
  {
    applies: ({ reasons }) => reasons.includes('automation_not_bound'),
    text: 'Enter the OAuth Client ID of this automation under Client ID Filtering.',
  },
]

const UNREADABLE =
  'Okta, Auth0, Hydra and Zitadel issue opaque tokens in some set-ups. Auth0 issues a JWT ' +
  'when the token request names an audience; others have a token type to choose.'

/** Returns the advice for the provider whose shape the token has. */
export function hintsFor({ token, reasons, facts }: Symptoms): readonly string[] {
  if (!facts) return token.includes('.') && !reasons.includes('encrypted_token') ? [] : [UNREADABLE]
  return HINTS.filter(({ applies }) => applies({ reasons, facts })).map((hint) => hint.text)
}
