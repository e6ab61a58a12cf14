import type { Automation } from '../../../platform/automations.ts'
import type { Run } from '../../../platform/runs.ts'

/** The page of the OAuth settings. */
export const OAUTH_PATH = '/settings/organization/oauth'
/** The page of the members of the organization. */
export const MEMBERS_PATH = '/settings/organization/members'

/** Returns the link of an invitation. */
export const invitationUrl = (baseUrl: string, token: string): string =>
  `${baseUrl}/invitations/${token}`

/** Returns the address of the page of a run. */
export const runPath = (
  { automationId }: Pick<Automation, 'automationId'>,
  { id }: Pick<Run, 'id'>,
): string => `/automations/${automationId}/executions/${id}`

/** Returns the address of the trace of a run, whose id is the run's. */
export const tracePath = ({ id }: Pick<Run, 'id'>): string => `/traces/${id.replaceAll('-', '')}`
