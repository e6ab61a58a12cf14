import type { Context } from 'hono'
import type { Automation } from '../../../platform/automations/automations.ts'
import { findCrewSettings, refuseChange } from '../../../platform/crews/crew-settings.ts'
import type { CrewSettings, OwnCrewKey, WantedLife } from '../../../platform/crews/crew-settings.ts'
import { findCrewDeployment, noDeployment } from '../../../platform/crews/crew-deployments.ts'
import type { Deployer } from '../../../platform/crews/crew-deployments.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import type { OrganizationCall } from '../../context.ts'
import { getAutomation } from '../designer/get-automation.ts'
import { describing } from '../openapi/operation.ts'

/** The longest body of a call about a crew. */
export const BODY_BYTES_MAX = 64 * 1024
/** Describes an operation on crews. */
export const operation = describing({ tag: 'Crews' })
/** Describes an operation that changes one. */
export const changing = describing({
  tag: 'Crews',
  409: 'The automation is being deleted, or a name or a limit is taken.',
})

/** An automation that is made from a source, with its settings. */
export interface OwnCrew extends OwnCrewKey, Deployer {
  readonly automation: Automation
  readonly settings: CrewSettings & WantedLife
}

/** Returns an automation with its settings. Raises `not_found` where it is not from a source. */
export async function openOwnCrew(
  sql: Database,
  automation: Automation,
  by: Omit<Deployer, 'deploymentId'>,
): Promise<OwnCrew> {
  const { id: deploymentId } = automation
  const settings = await findCrewSettings(sql, deploymentId)
  if (!settings) return refuseChange(sql, deploymentId)
  return { automation, deploymentId, settings, ...by }
}

/**
 * Returns the automation of the path. Raises `not_found` for one of another organization, and for
 * one that is not made from a source.
 */
export const getOwnCrew = async (c: Context<OrganizationCall>, sql: Database): Promise<OwnCrew> =>
  openOwnCrew(sql, await getAutomation(c, sql), { createdBy: null, tokenName: c.var.actor.name })

/** Returns the deployment that the path numbers. Raises `not_found`. */
export async function getDeployment(c: Context, sql: Database, { deploymentId }: OwnCrewKey) {
  const text = c.req.param('number') ?? ''
  if (!/^[1-9]\d{0,8}$/.test(text)) {
    throw new AppError('not_found', 'There is no such deployment: they have numbers.')
  }
  const number = Number(text)
  const found = await findCrewDeployment(sql, { deploymentId, number })
  if (found) return found
  throw noDeployment(number)
}
