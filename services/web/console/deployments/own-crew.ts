import type { Context } from 'hono'
import type { Automation } from '../../../platform/automations/automations.ts'
import type { ListedDeployment } from '../../../platform/crews/crew-deployments.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import { getDeployment, openOwnCrew } from '../../api/crews/own-crew.ts'
import type { OwnCrew } from '../../api/crews/own-crew.ts'
import type { SignedIn } from '../../context.ts'
import { getOwnAutomation } from '../frame/own-automation.ts'

/**
 * Returns the automation of the path. Raises `not_found`, also for one that is not made from a
 * source.
 */
export const getOwnCrew = async (c: Context<SignedIn>, sql: Database): Promise<OwnCrew> =>
  openOwnCrew(sql, await getOwnAutomation(c, sql), { createdBy: c.var.session.user.id })

/** Returns the deployment of the path with its automation. Raises `not_found`. */
export async function getOwnDeployment(
  c: Context<SignedIn>,
  sql: Database,
): Promise<{ crew: OwnCrew; deployment: ListedDeployment }> {
  const crew = await getOwnCrew(c, sql)
  return { crew, deployment: await getDeployment(c, sql, crew) }
}

/** Returns the address of an automation's page. */
export const automationPath = ({ automationId }: Pick<Automation, 'automationId'>): string =>
  `/automations/${automationId}`

/** Returns the address of the page of a deployment. */
export const deploymentPath = (
  automation: Pick<Automation, 'automationId'>,
  { number }: Pick<ListedDeployment, 'number'>,
): string => `${automationPath(automation)}/deployments/${number}`
