import type { Context } from 'hono'
import * as v from 'valibot'
import { findSourceNote } from '../../../platform/connections/regions.ts'
import {
  deployAgain,
  deploySource as deployOf,
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
import type { ApiRoom } from '../api-room.ts'
import { createReceiver } from '../../intake/source-uploads/receive-source.ts'
import * as s from '../openapi/parts.ts'
import { jsonBody } from '../openapi/operation.ts'
import { deploymentDocument, deploymentFields } from './documents.ts'
import { BODY_BYTES_MAX, changing, getDeployment, getOwnCrew, operation } from './own-crew.ts'
import type { OwnCrew } from './own-crew.ts'
import { recordChange } from './record-change.ts'

const LIST_MAX = 100
/** What a client sends to deploy again what is there. */
const againBody = jsonBody(
  'DeployAgainRequest',
  v.strictObject({
    roll_back_to: v.optional(
      v.pipe(
        v.number('must be a number'),
        v.integer('must be whole'),
        v.minValue(1, 'must be 1 or more'),
      ),
    ),
  }),
  {
    example: { roll_back_to: 3 },
    description: 'Without a number, the newest source with the settings and variables of now.',
    bytesMax: BODY_BYTES_MAX,
  },
)
const created = s.document('NewDeployment', { ...deploymentFields, note: s.perhapsText })
const deployments = s.document('Deployments', { deployments: s.list(deploymentDocument) })
const log = s.document('CrewLog', {
  text: s.text,
  is_cut: s.say(s.truth, 'Its beginning is no longer kept.'),
  next: s.say(s.integer, 'What to send as `from` to read on.'),
})

const list = operation('listDeployments', 'The deployments of an automation, newest first', {
  parameters: [
    s.parameter('before', 'query', {
      description: 'Only those with lower numbers.',
      schema: { ...s.integer, minimum: 1 },
    }),
  ],
  200: ['At most 100.', deployments],
  400: 'before is not valid.',
})
const deploySource = changing('deploy', 'Deploy a source', {
  description:
    'An archive of a project, .zip or .tar.gz, of at most 64 MiB. As JSON: deploy the newest ' +
    'source again, or roll back. `note` says what a rule on regions cannot do for it.',
  body: {
    content: {
      'multipart/form-data': {
        schema: { type: 'object', required: ['source'], properties: { source: s.file.schema } },
      },
      'application/zip': s.file,
      'application/gzip': s.file,
      ...againBody.content,
    },
  },
  201: ['A worker builds and starts it.', created, s.location('Where it is.')],
  400: 'The body is not JSON, or no archive.',
  413: 'The body, or what is in the archive, is too large.',
  415: 'Not one of these media types.',
  422: 'The body is not valid, or the project cannot be run.',
  503: 'The database is unavailable, or too many sources are being sent.',
})
const get = operation('getDeployment', 'A deployment, whose state says how far it is', {
  200: deploymentDocument,
})
const readLog = operation('readDeploymentLog', 'A log of a deployment', {
  parameters: [
    s.parameter('stream', 'path', { schema: s.words(LOG_STREAMS) }),
    s.parameter('from', 'query', {
      description: 'The `next` of an earlier answer.',
      schema: { ...s.integer, minimum: 0, default: 0 },
    }),
  ],
  200: ['What is kept of it.', log],
  400: 'from is not valid.',
})

/** The deployments of an automation that is made from sources, and their logs. */
export function deploymentRoutes(api: ApiRoom, deps: WebDeps): void {
  const { sql } = deps
  const deploy = createDeploy(deps)
  const path = '/automations/:automationId/deployments'

  api.get('viewer', [path, list], async (c) => {
    const crew = await getOwnCrew(c, sql)
    const before = readBefore(c)
    const found = await listCrewDeployments(sql, crew, { before, limit: LIST_MAX })
    return c.json({ deployments: found.map(deploymentDocument.of) })
  })

  api.post('editor', [path, deploySource], async (c) => {
    const crew = await getOwnCrew(c, sql)
    const { number } = await deploy(c, crew)
    const deployment = await findCrewDeployment(sql, { ...crew, number })
    if (!deployment) throw noDeployment(number)
    const { automationId, organizationId } = crew.automation
    const note = await findSourceNote(sql, organizationId)
    return c.json({ ...deploymentDocument.of(deployment), note }, 201, {
      location: `/designer/v2/automations/${automationId}/deployments/${number}`,
    })
  })

  api.get('viewer', [`${path}/:number`, get], async (c) => {
    const deployment = await getDeployment(c, sql, await getOwnCrew(c, sql))
    return c.json(deploymentDocument.of(deployment))
  })

  api.get('viewer', [`${path}/:number/logs/:stream`, readLog], async (c) => {
    const { id: crewDeploymentId } = await getDeployment(c, sql, await getOwnCrew(c, sql))
    const stream = LOG_STREAMS.find((each) => each === c.req.param('stream'))
    if (!stream) throw new AppError('not_found', `A log is one of ${LOG_STREAMS.join(', ')}.`)
    return c.json(log.of(await readCrewLog(sql, { crewDeploymentId, stream }, readFrom(c))))
  })
}

/** Creates what deploys the archive of a call, or again what is there already. */
function createDeploy({ sql, config }: WebDeps) {
  const receive = createReceiver()
  return async (c: Context<OrganizationCall>, crew: OwnCrew): Promise<CrewDeployment> => {
    if (mediaType(c.req.raw) === 'application/json') {
      const { roll_back_to: number } = await againBody.read(c)
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
      change: (tx) => deployOf(tx, crew, source.id),
      after: { source: source.digest.toString('hex') },
    })
    await forgetSources(sql, organizationId)
    return deployment
  }
}

function readBefore(c: Context): number | undefined {
  const given = c.req.query('before')
  if (given === undefined) return undefined
  if (/^[1-9]\d{0,8}$/.test(given)) return Number(given)
  throw new AppError('invalid_request', 'before is the number of a deployment.')
}

function readFrom(c: Context): number {
  const given = c.req.query('from') ?? '0'
  if (/^\d{1,9}$/.test(given)) return Number(given)
  throw new AppError('invalid_request', 'from is the next of an earlier answer.')
}
