import type { Context, Hono } from 'hono'
import { rollBack } from '../../../platform/crews/crew-deployments.ts'
import { LOG_STREAMS, readCrewLog } from '../../../platform/crews/crew-logs.ts'
import type { LogStream } from '../../../platform/crews/crew-logs.ts'
import { AppError } from '../../../shared/errors.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { recordChange } from '../../api/crews/record-change.ts'
import { deploymentPage, deploymentParts } from './deployment-page.ts'
import type { DeploymentPage } from './deployment-page.ts'
import { deploymentPath, getOwnDeployment } from './own-crew.ts'
import { createRoom } from '../frame/room.ts'

/** Characters of a text that lines are found by. */
const FIND_MAX = 200

/** Serves the page of a deployment, with its logs, and the way back to it. */
export function deploymentPageRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql } = deps
  const room = createRoom(deps)
  const path = '/automations/:automationId/deployments/:number'

  const read = async (c: Context<SignedIn>): Promise<DeploymentPage> => {
    const { crew, deployment } = await getOwnDeployment(c, sql)
    const log = (stream: LogStream) => readCrewLog(sql, { crewDeploymentId: deployment.id, stream })
    const [build, crewLog] = await Promise.all([log('build'), log('crew')])
    const found = (stream: LogStream) => (c.req.query(stream) ?? '').slice(0, FIND_MAX)
    return {
      session: c.var.session,
      crew,
      deployment,
      logs: { build, crew: crewLog },
      find: { build: found('build'), crew: found('crew') },
      notice: c.var.notice,
    }
  }

  room.page('viewer', path, async (c) => c.html(deploymentPage(await read(c))))

  room.page('viewer', `${path}/live`, async (c) => {
    const view = await read(c)
    const { deployment, logs } = view
    const news = [deployment.state, deployment.reason, logs.build.next, logs.crew.next]
    const etag = `W/"${Buffer.from(news.join('.')).toString('base64url').slice(0, 200)}"`
    if (c.req.header('if-none-match') === etag) return c.body(null, 304, { etag })
    return c.html(deploymentParts(view), 200, { etag })
  })

  room.page('viewer', `${path}/logs/:stream`, async (c) => {
    const { deployment } = await getOwnDeployment(c, sql)
    const stream = LOG_STREAMS.find((each) => each === c.req.param('stream'))
    if (!stream) throw new AppError('not_found', `A log is one of ${LOG_STREAMS.join(', ')}.`)
    const { text } = await readCrewLog(sql, { crewDeploymentId: deployment.id, stream })
    return c.body(text, 200, {
      'content-type': 'text/plain; charset=utf-8',
      'content-disposition': `attachment; filename="${stream}-${deployment.number}.log"`,
    })
  })

  room.form('editor', `${path}/roll-back`, async (c) => {
    const { crew, deployment } = await getOwnDeployment(c, sql)
    const made = await recordChange({ sql, ...c.var }, crew.automation, {
      action: 'crew_rolled_back',
      change: (tx) => rollBack(tx, crew, deployment.number),
      after: { roll_back_to: deployment.number },
    })
    return c.redirect(deploymentPath(crew.automation, made), 303)
  })
  return room.routes
}
