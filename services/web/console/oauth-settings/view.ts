import type { Automation } from '../../../platform/automations/automations.ts'
import type { Page } from '../../../shared/postgres/paging.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import type { Explanation } from '../../gate/access-token/explain-token.ts'
import type { ConfigurationTest } from '../../gate/access-token/test-configuration.ts'
import type { OauthFormValues } from './form.ts'

/** The explanation of a pasted token, without the token itself. */
export interface ExplainedToken {
  readonly automationId: string
  readonly explanation?: Explanation
  readonly problem?: string
}

/** All that the page of the OAuth settings shows. */
export interface OauthSettingsView {
  readonly session: Session
  readonly values: OauthFormValues
  /** The state of the saved settings, whatever the form shows. */
  readonly state: 'on' | 'off' | 'never'
  readonly problems: readonly string[]
  /** The first ones by name. */
  readonly automations: Page<Automation>
  readonly notice?: string | undefined
  readonly test?: ConfigurationTest
  readonly explained?: ExplainedToken
}
