import type { AlertExample } from '../../../platform/alerts/alerts.ts'
import type { Automation } from '../../../platform/automations/automations.ts'
import type { Run } from '../../../platform/runs/runs.ts'

/** The page of the OAuth settings, and that of the client of each automation. */
export const OAUTH_PATH = '/oauth-settings'
export const OAUTH_CLIENTS_PATH = '/oauth-clients'
/** The page of the rule on regions. */
export const REGIONS_PATH = '/region-rules'
/** The page of the members of the organization. */
export const MEMBERS_PATH = '/settings/organization/members'
/** The page of the invitations that can be accepted. */
export const INVITATIONS_PATH = '/settings/organization/invitations'

/** Returns the link of an invitation. */
export const invitationUrl = (baseUrl: string, token: string): string =>
  `${baseUrl}/invitations/${token}`

/** Returns the address of the page of a run. */
export const runPath = (
  { automationId }: Pick<Automation, 'automationId'>,
  { id }: Pick<Run, 'id'>,
): string => `/automations/${automationId}/executions/${id}`

/** Returns the trace id of a run, which is its own id. */
export const toTraceId = (runId: string): string => runId.replaceAll('-', '')

/** Returns the address of the trace of a run. */
export const tracePath = ({ id }: Pick<Run, 'id'>): string => `/traces/${toTraceId(id)}`

/** Returns the address of the page of a run, or of a trace, that an alert names. */
export const examplePath = (given: AlertExample): string =>
  'trace_id' in given
    ? tracePath({ id: given.trace_id })
    : runPath({ automationId: given.automation_id }, { id: given.kickoff_id })
