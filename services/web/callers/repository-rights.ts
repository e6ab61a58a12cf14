import type { OrganizationRole } from '../../platform/memberships.ts'

type Right = OrganizationRole | 'anybody'

/** Who may call the pages of the Git repositories of automations. */
export const REPOSITORY_PAGES = {
  'GET /automations/:automationId/crew-repository': 'viewer',
  'POST /automations/:automationId/crew-repository': 'editor',
  'POST /automations/:automationId/crew-repository/pull': 'editor',
  'POST /automations/:automationId/crew-repository/webhook': 'editor',
  'POST /automations/:automationId/crew-repository/webhook/delete': 'editor',
  'POST /automations/:automationId/crew-repository/delete': 'editor',
  // Git servers, with a signature.
  'POST /git-webhooks/:automationId': 'anybody',
} as const satisfies Readonly<Record<string, Right>>

/** Who may call their API. */
export const REPOSITORY_API = {
  'GET /designer/v2/automations/:automationId/repository': 'viewer',
  'PUT /designer/v2/automations/:automationId/repository': 'editor',
  'DELETE /designer/v2/automations/:automationId/repository': 'editor',
  'POST /designer/v2/automations/:automationId/repository/pull': 'editor',
  'POST /designer/v2/automations/:automationId/repository/webhook': 'editor',
  'DELETE /designer/v2/automations/:automationId/repository/webhook': 'editor',
} as const satisfies Readonly<Record<string, Right>>
