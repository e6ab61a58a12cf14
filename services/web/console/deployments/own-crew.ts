import type { Context } from 'hono'
import type { Automation } from '../../../platform/automations/automations.ts'
import { findCrewSettings, refuseChange } from '../../../platform/crews/crew-settings.ts'
import type { CrewSettings, OwnCrewKey, WantedLife } from '../../../platform/crews/crew-settings.ts'
import { findCrewDeployment, noDeployment } from '../../../platform/crews/crew-deployments.ts'
import type { Deployer, ListedDeployment } from '../../../platform/crews/crew-deployments.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import type { SignedIn } from '../../context.ts'
import { getOwnAutomation } from '../frame/own-automation.ts'

/** An automation that is made from a source, with its settings. */
export interface OwnCrew extends OwnCrewKey, Deployer {
  readonly automation: Automation
  readonly settings: CrewSettings & WantedLife
}

/**
 * Returns the automation of the path. Raises `not_found`, also for one that is not made from a
 * source.
 */
export async function getOwnCrew(c: Context<SignedIn>, sql: Database): Promise<OwnCrew> {
  const automation = await getOwnAutomation(c, sql)
  const settings = await findCrewSettings(sql, automation.id)
  if (!settings) return refuseChange(sql, automation.id)
  return {
    automation,
    settings,
    deploymentId: automation.id,
    createdBy: c.var.session.user.id,
  }
}

/** Returns the deployment of the path with its automation. Raises `not_found`. */
export async function getOwnDeployment(
  c: Context<SignedIn>,
  sql: Database,
): Promise<{ crew: OwnCrew; deployment: ListedDeployment }> {
  const crew = await getOwnCrew(c, sql)
  const text = c.req.param('number') ?? ''
  if (!/^[1-9]\d{0,8}$/.test(text)) {
    throw new AppError('not_found', 'There is no such deployment: they have numbers.')
  }
  const deployment = await findCrewDeployment(sql, { ...crew, number: Number(text) })
  if (deployment) return { crew, deployment }
  throw noDeployment(Number(text))
}

/** Returns the address of an automation's page. */
export const automationPath = ({ automationId }: Pick<Automation, 'automationId'>): string =>
  `/automations/${automationId}`

/** Returns the address of the page of a deployment. */
export const deploymentPath = (
  automation: Pick<Automation, 'automationId'>,
  { number }: Pick<ListedDeployment, 'number'>,
): string => `${automationPath(automation)}/deployments/${number}`
