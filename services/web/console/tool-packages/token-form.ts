import { html } from 'hono/html'
import type { Session } from '../../../platform/people/sessions.ts'
import type { TokenScope } from '../../../platform/automations/token-limits.ts'
import { csrfField } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { NEW_TOKEN, tokenFields } from '../frame/token-fields.ts'
import type { TokenFields } from '../frame/token-fields.ts'
import { PACKAGES_PATH } from './paths.ts'

/** What a token for packages may be for. */
export const PACKAGE_SCOPES: readonly TokenScope[] = ['upload', 'read']

/** The fields of a new form: a token that uploads. */
export const NEW_PACKAGE_TOKEN: TokenFields = { ...NEW_TOKEN, scopes: ['upload'] }

/** What was typed into the form of a new token. */
export interface TypedToken {
  readonly name: string
  readonly fields: TokenFields
  readonly problem?: string | undefined
}

interface TokenFormView {
  readonly session: Session
  readonly typed: TypedToken
  readonly daysMax: number
}

/** The form that issues a token for packages. */
export const tokenForm = ({ session, typed, daysMax }: TokenFormView): Html =>
  html`<form method="post" action="${PACKAGES_PATH}/tokens" class="stack">
    ${csrfField(session.csrfToken)}
    <label
      >Name of the token
      <input
        name="name"
        value="${typed.name}"
        maxlength="100"
        placeholder="The system that will use it"
        autocomplete="off"
        required
      />
    </label>
    ${tokenFields(typed.fields, daysMax, PACKAGE_SCOPES)}
    <div class="buttons"><button class="button primary">Issue a token</button></div>
  </form>`
