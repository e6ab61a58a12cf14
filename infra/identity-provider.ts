import { setWhen } from './kit/env.ts'
import { fromSecret } from './kit/secret-keys.ts'
import { all, equals, isSet, not } from './template/operators.ts'
import { values } from './values.ts'

const { auth } = values

/** Holds unless people sign in with passwords alone. */
export const hasIdentityProvider = not(equals(auth.provider, 'local'))

const hasGroups = all(hasIdentityProvider, isSet(auth.groupsClaim))
const hasAdminClaim = all(hasIdentityProvider, isSet(auth.adminClaim))

/** The variables with which web signs people in. */
export const signInEnv = {
  AUTH_PROVIDER: auth.provider,
  AUTH_PASSWORDS: setWhen(hasIdentityProvider, auth.passwords),
  OIDC_ISSUER_URL: setWhen(hasIdentityProvider, auth.issuerUrl),
  OIDC_CLIENT_ID: setWhen(hasIdentityProvider, auth.clientId),
  OIDC_CLIENT_SECRET: setWhen(hasIdentityProvider, fromSecret('OIDC_CLIENT_SECRET')),
  OIDC_SCOPES: setWhen(hasIdentityProvider, auth.scopes),
  OIDC_ADMIN_CLAIM: setWhen(hasAdminClaim, auth.adminClaim),
  OIDC_ADMIN_VALUE: setWhen(hasAdminClaim, auth.adminValue),
  OIDC_GROUPS_CLAIM: setWhen(hasGroups, auth.groupsClaim),
  OIDC_GROUPS: setWhen(hasGroups, auth.groups),
  OIDC_DEFAULT_ROLE: setWhen(hasIdentityProvider, auth.defaultRole),
}
