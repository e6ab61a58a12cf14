import type { Automation } from '../../../platform/automations.ts'
import type { Run } from '../../../platform/runs.ts'

/** The page of the OAuth settings. */
export const OAUTH_PATH = '/settings/organization/oauth'

/** Returns the address of the page of a run. */
export const runPath = (
  { automationId }: Pick<Automation, 'automationId'>,
  { id }: Pick<Run, 'id'>,
): string => `/automations/${automationId}/executions/${id}`

/** Returns the address of the trace of a run, whose id is the run's. */
export const tracePath = ({ id }: Pick<Run, 'id'>): string => `/traces/${id.replaceAll('-', '')}`
