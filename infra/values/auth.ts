import { group, integer, string, word } from '../template/schema.ts'
import * as type from '../value-types.ts'

/** The sign-in of people. */
export const auth = group('How people sign in.', {
  provider: string(
    'local',
    'Kind of identity provider, such as `oidc`, `okta`, `entra_id`, `auth0` or `keycloak`. ' +
      '`local` means passwords.',
    { pattern: /^[a-z0-9_-]{1,40}$/, expected: 'a word such as local, oidc or okta' },
  ),
  passwords: word(
    ['on', 'off'],
    'on',
    'Whether people may sign in with a password as well. `off` leaves the identity provider only.',
  ),
  issuerUrl: type.optionalUrl(
    'Issuer of the provider, under which `/.well-known/openid-configuration` answers.',
  ),
  clientId: string('', 'Client that the provider knows the platform as.', {
    pattern: /^[!-~]*$/,
    expected: 'printable ASCII characters without spaces, or ""',
  }),
  scopes: string('openid profile email', 'What is asked for at the sign-in, with spaces between.', {
    pattern: /^([!-~]+ )*openid( [!-~]+)*$/,
    expected: 'scopes with spaces between, openid among them',
  }),
  adminClaim: string(
    '',
    'Claim, or path to it with dots between, that makes a platform-admin. Empty means that ' +
      'none does.',
    { pattern: /^[!-~]*$/, expected: 'printable ASCII characters without spaces, or ""' },
  ),
  adminValue: string('', 'What that claim has to be, or to hold.'),
  groupsClaim: string(
    '',
    'Claim, or path to it with dots between, whose values `groups` makes members of ' +
      'organizations. Empty means that none does.',
    { pattern: /^[!-~]*$/, expected: 'printable ASCII characters without spaces, or ""' },
  ),
  groups: string(
    '',
    'Rules such as `crew-admins -> Acme: admin`, with semicolons between them: who is in the ' +
      'group on the left has the role on the right in that organization, from sign-in to sign-in.',
  ),
  staticTokenDaysMax: integer(
    0,
    'Longest life, in days, of static tokens that people issue. `0` means any, for ever too.',
    { min: 0, max: 3650 },
  ),
  defaultRole: word(
    ['none', 'viewer', 'editor', 'admin'],
    'viewer',
    'Role in the first organization of people who sign in for the first time and whom no group ' +
      'puts anywhere. `none` means that they wait for an invitation.',
  ),
})
