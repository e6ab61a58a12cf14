import type { OrganizationRole } from '../../../platform/people/memberships.ts'

type Right = OrganizationRole | 'anybody'

/** Who may call the settings of automations from source, and their Git repositories. */
export const CREW_PAGES = {
  'GET /automations/:automationId/crew-settings': 'viewer',
  'POST /automations/:automationId/crew-settings': 'editor',
  'GET /automations/:automationId/environment': 'viewer',
  'POST /automations/:automationId/environment': 'editor',
  'POST /automations/:automationId/environment/many': 'editor',
  'POST /automations/:automationId/environment/delete': 'editor',
  'GET /automations/:automationId/crew-repository': 'viewer',
  'GET /automations/:automationId/crew-repository/live': 'viewer',
  'POST /automations/:automationId/crew-repository': 'editor',
  'POST /automations/:automationId/crew-repository/pull': 'editor',
  'POST /automations/:automationId/crew-repository/webhook': 'editor',
  'POST /automations/:automationId/crew-repository/webhook/delete': 'editor',
  'POST /automations/:automationId/crew-repository/delete': 'editor',
  // Git servers, with a signature.
  'POST /git-webhooks/:automationId': 'anybody',
} as const satisfies Readonly<Record<string, Right>>

/** Who may call the API of those repositories. */
export const REPOSITORY_API = {
  'GET /designer/v2/automations/:automationId/repository': 'viewer',
  'PUT /designer/v2/automations/:automationId/repository': 'editor',
  'DELETE /designer/v2/automations/:automationId/repository': 'editor',
  'POST /designer/v2/automations/:automationId/repository/pull': 'editor',
  'POST /designer/v2/automations/:automationId/repository/webhook': 'editor',
  'DELETE /designer/v2/automations/:automationId/repository/webhook': 'editor',
} as const satisfies Readonly<Record<string, Right>>
