import type { ConnectionKind } from '../../../platform/connections/oauth-connections.ts'
import type { TextName, Texts } from './texts.ts'

/** A ready-made form of a connection: what is filled in beforehand, as people would type it. */
export interface Shape {
  /** Stored as the provider of the connection. */
  readonly key: string
  readonly name: string
  readonly summary: string
  readonly kind: ConnectionKind
  /** The addresses that everybody enters; the others are right as they are, or left out. */
  readonly asks: readonly TextName[]
  readonly texts: Partial<Texts>
  /** Where a client is registered, or a token is made. */
  readonly registration?: string
}

const CODE = { kind: 'authorization_code', asks: [] } as const

/** The ready-made forms, in the order in which they are offered. */
export const SHAPES: readonly Shape[] = [
  {
    ...CODE,
    key: 'github',
    name: 'GitHub',
    summary: 'Repositories, issues and pull requests of an account',
    texts: {
      issuer: 'https://github.com/login/oauth',
      authorization_endpoint: 'https://github.com/login/oauth/authorize',
      token_endpoint: 'https://github.com/login/oauth/access_token',
      token_endpoint_auth_method: 'client_secret_post',
      scopes: 'repo read:org',
      test_url: 'https://api.github.com/user',
      hosts: 'api.github.com\napi.githubcopilot.com',
    },
    registration: 'https://github.com/settings/developers',
  },
  {
    ...CODE,
    key: 'gitlab',
    name: 'GitLab',
    summary: 'Projects and merge requests; for an instance of your own, change its addresses',
    texts: {
      issuer: 'https://gitlab.com',
      scopes: 'read_api',
      test_url: 'https://gitlab.com/api/v4/user',
      hosts: 'gitlab.com',
    },
    registration: 'https://gitlab.com/-/user_settings/applications',
  },
  {
    ...CODE,
    key: 'google',
    name: 'Google',
    summary: 'Drive, Gmail, Calendar and the other APIs of Google',
    texts: {
      issuer: 'https://accounts.google.com',
      scopes: 'openid email https://www.googleapis.com/auth/drive.readonly',
      // Only so does Google issue a refresh token.
      parameters: 'access_type=offline\nprompt=consent',
      hosts: '*.googleapis.com',
    },
    registration: 'https://console.cloud.google.com/apis/credentials',
  },
  {
    ...CODE,
    key: 'microsoft',
    name: 'Microsoft',
    summary: 'Outlook, Teams, SharePoint and the rest of Microsoft Graph',
    texts: {
      authorization_endpoint: 'https://login.microsoftonline.com/common/oauth2/v2.0/authorize',
      token_endpoint: 'https://login.microsoftonline.com/common/oauth2/v2.0/token',
      token_endpoint_auth_method: 'client_secret_post',
      scopes: 'offline_access User.Read',
      test_url: 'https://graph.microsoft.com/v1.0/me',
      hosts: 'graph.microsoft.com',
    },
    registration: 'https://entra.microsoft.com',
  },
  {
    ...CODE,
    key: 'slack',
    name: 'Slack',
    summary: 'Channels and messages, as an app of a workspace',
    texts: {
      authorization_endpoint: 'https://slack.com/oauth/v2/authorize',
      token_endpoint: 'https://slack.com/api/oauth.v2.access',
      token_endpoint_auth_method: 'client_secret_post',
      scopes: 'channels:read,chat:write',
      hosts: 'slack.com',
    },
    registration: 'https://api.slack.com/apps',
  },
  {
    ...CODE,
    key: 'notion',
    name: 'Notion',
    summary: 'Pages and databases of a workspace',
    texts: {
      authorization_endpoint: 'https://api.notion.com/v1/oauth/authorize',
      token_endpoint: 'https://api.notion.com/v1/oauth/token',
      token_endpoint_auth_method: 'client_secret_basic',
      parameters: 'owner=user',
      hosts: 'api.notion.com',
    },
    registration: 'https://www.notion.so/profile/integrations',
  },
  {
    ...CODE,
    key: 'atlassian',
    name: 'Atlassian',
    summary: 'Jira and Confluence in the cloud',
    texts: {
      authorization_endpoint: 'https://auth.atlassian.com/authorize',
      token_endpoint: 'https://auth.atlassian.com/oauth/token',
      token_endpoint_auth_method: 'client_secret_post',
      scopes: 'offline_access read:me read:jira-work',
      parameters: 'audience=api.atlassian.com\nprompt=consent',
      test_url: 'https://api.atlassian.com/me',
      hosts: 'api.atlassian.com',
    },
    registration: 'https://developer.atlassian.com/console/myapps/',
  },
  {
    key: 'oidc',
    name: 'OpenID Connect',
    summary: 'Any provider with a discovery document, by its issuer',
    kind: 'authorization_code',
    asks: ['issuer'],
    texts: {
      scopes: 'openid offline_access',
    },
  },
  {
    key: 'oauth2',
    name: 'OAuth 2',
    summary: 'Any provider with authorization codes, by its endpoints',
    kind: 'authorization_code',
    asks: ['authorization_endpoint', 'token_endpoint'],
    texts: {},
  },
  {
    key: 'identity',
    name: 'Identity of the run',
    summary: 'A receiver that takes tokens of OpenID Connect: the platform signs who the run is',
    kind: 'identity',
    asks: [],
    texts: { token_endpoint_auth_method: 'none' },
  },
  {
    key: 'client-credentials',
    name: 'Client credentials',
    summary: 'A service that issues tokens to a client itself, without a person',
    kind: 'client_credentials',
    asks: ['issuer', 'token_endpoint'],
    texts: {},
  },
  {
    key: 'token',
    name: 'Token or API key',
    summary: 'A token that you enter: a personal access token, or the key of an API',
    kind: 'static_token',
    asks: [],
    texts: {},
  },
]

/** Returns the shape of a key; undefined for any other text. */
export const findShape = (key: string | undefined): Shape | undefined =>
  SHAPES.find((shape) => shape.key === key)

/** Returns the name of a provider, as people say it. */
export const providerName = (key: string): string => findShape(key)?.name ?? key
