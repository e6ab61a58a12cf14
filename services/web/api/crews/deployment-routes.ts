import type { Context, Hono } from 'hono'
import * as v from 'valibot'
import { findSourceNote } from '../../../platform/connections/regions.ts'
import {
  deployAgain,
  deploySource,
  findCrewDeployment,
  listCrewDeployments,
  noDeployment,
  rollBack,
} from '../../../platform/crews/crew-deployments.ts'
import type { CrewDeployment } from '../../../platform/crews/crew-deployments.ts'
import { LOG_STREAMS, readCrewLog } from '../../../platform/crews/crew-logs.ts'
import { storeArchive } from '../../../platform/crews/source-archive/store-archive.ts'
import { forgetSources } from '../../../platform/crews/sources.ts'
import { AppError } from '../../../shared/errors.ts'
import { mediaType } from '../../../shared/http/request-body.ts'
import type { OrganizationCall, WebDeps } from '../../context.ts'
import { createApi } from '../api-room.ts'
import { createReceiver } from '../../intake/source-uploads/receive-source.ts'
import { deploymentDocument } from './documents.ts'
import { getDeployment, getOwnCrew, readBodyAs } from './own-crew.ts'
import type { OwnCrew } from './own-crew.ts'
import { recordChange } from './record-change.ts'

const LIST_MAX = 100
/** What a client sends to deploy again what is there. */
export const againBody = v.strictObject({
  roll_back_to: v.optional(
    v.pipe(
      v.number('must be a number'),
      v.integer('must be whole'),
      v.minValue(1, 'must be 1 or more'),
    ),
  ),
})

/** The deployments of an automation that is made from sources, and their logs. */
export function deploymentRoutes(deps: WebDeps): Hono<OrganizationCall> {
  const { sql } = deps
  const api = createApi(deps)
  const deploy = createDeploy(deps)
  const path = '/automations/:automationId/deployments'

  api.get('viewer', path, async (c) => {
    const crew = await getOwnCrew(c, sql)
    const before = readBefore(c)
    const deployments = await listCrewDeployments(sql, crew, { before, limit: LIST_MAX })
    return c.json({ deployments: deployments.map(deploymentDocument) })
  })

  api.post('editor', path, async (c) => {
    const crew = await getOwnCrew(c, sql)
    const { number } = await deploy(c, crew)
    const deployment = await findCrewDeployment(sql, { ...crew, number })
    if (!deployment) throw noDeployment(number)
    const { automationId, organizationId } = crew.automation
    const note = await findSourceNote(sql, organizationId)
    return c.json({ ...deploymentDocument(deployment), note }, 201, {
      location: `/designer/v2/automations/${automationId}/deployments/${number}`,
    })
  })

  api.get('viewer', `${path}/:number`, async (c) => {
    const deployment = await getDeployment(c, sql, await getOwnCrew(c, sql))
    return c.json(deploymentDocument(deployment))
  })

  api.get('viewer', `${path}/:number/logs/:stream`, async (c) => {
    const { id: crewDeploymentId } = await getDeployment(c, sql, await getOwnCrew(c, sql))
    const stream = LOG_STREAMS.find((each) => each === c.req.param('stream'))
    if (!stream) throw new AppError('not_found', `A log is one of ${LOG_STREAMS.join(', ')}.`)
    const { text, isCut, next } = await readCrewLog(sql, { crewDeploymentId, stream }, readFrom(c))
    return c.json({ text, is_cut: isCut, next })
  })
  return api.routes()
}

/** Creates what deploys the archive of a call, or again what is there already. */
function createDeploy({ sql, config }: WebDeps) {
  const receive = createReceiver()
  return async (c: Context<OrganizationCall>, crew: OwnCrew): Promise<CrewDeployment> => {
    if (mediaType(c.req.raw) === 'application/json') {
      const { roll_back_to: number } = await readBodyAs(c, againBody)
      return recordChange({ sql, ...c.var }, crew.automation, {
        action: number === undefined ? 'crew_deployed' : 'crew_rolled_back',
        change: (tx) => (number === undefined ? deployAgain(tx, crew) : rollBack(tx, crew, number)),
        after: { roll_back_to: number },
      })
    }
    const { organizationId } = crew.automation
    const { entrypoint } = crew.settings
    const source = await receive(c.req.raw, ({ path, name }) =>
      storeArchive(sql, path, {
        organizationId,
        uploadedBy: null,
        name,
        entrypoint,
        quotaBytes: config.CREW_STORAGE_MAX,
      }),
    )
    const deployment = await recordChange({ sql, ...c.var }, crew.automation, {
      action: 'crew_deployed',
      change: (tx) => deploySource(tx, crew, source.id),
      after: { source: source.digest.toString('hex') },
    })
    await forgetSources(sql, organizationId)
    return deployment
  }
}

function readBefore(c: Context): number | undefined {
  const text = c.req.query('before')
  if (text === undefined) return undefined
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new AppError('invalid_request', 'before is the number of a deployment.')
}

function readFrom(c: Context): number {
  const text = c.req.query('from') ?? '0'
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new AppError('invalid_request', 'from is the next of an earlier answer.')
}
