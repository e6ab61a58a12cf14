import type { Context, Hono } from 'hono'
import { writeAudit } from '../../../platform/audit/audit.ts'
import { deploySource } from '../../../platform/crews/crew-deployments.ts'
import { createOwnAutomation } from '../../../platform/crews/own-crews.ts'
import { projectNameProblem } from '../../../platform/projects/projects.ts'
import { AppError } from '../../../shared/errors.ts'
import { inTransaction } from '../../../shared/postgres/database.ts'
import type { Transaction } from '../../../shared/postgres/database.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { newPage } from './new-page.ts'
import { automationPath, deploymentPath } from './own-crew.ts'
import { createFormReceiver, isOfSource } from './receive-form.ts'
import { createRoom } from '../frame/room.ts'

/** Serves the page that makes an automation of a source. */
export function newAutomationRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql, config } = deps
  const room = createRoom(deps)
  const receive = createFormReceiver(deps)
  const runsHere = config.CREW_PROCESSES

  room.page('editor', '/new-automation', (c) =>
    c.html(newPage({ session: c.var.session, runsHere })),
  )

  room.upload('editor', '/new-automation', async (c) => {
    let name = ''
    const check = (fields: URLSearchParams): void => void (name = readName(fields))
    try {
      const { source } = await receive(c, { entrypoint: null, check })
      const made = await inTransaction(sql, async (tx) => {
        const automation = await create(c, tx, name)
        const createdBy = c.var.session.user.id
        const deployer = { deploymentId: automation.id, createdBy }
        return { automation, deployment: await deploySource(tx, deployer, source.id) }
      })
      return c.redirect(deploymentPath(made.automation, made.deployment), 303)
    } catch (thrown) {
      if (!isOfSource(thrown)) throw thrown
      const view = { session: c.var.session, runsHere, name, problem: thrown.message }
      return c.html(newPage(view), thrown.status)
    }
  })

  room.form('editor', '/new-automation/empty', async (c) => {
    try {
      const name = readName(c.var.form)
      const automation = await inTransaction(sql, (tx) => create(c, tx, name))
      return c.redirect(`${automationPath(automation)}/environment`, 303)
    } catch (thrown) {
      if (!isOfSource(thrown)) throw thrown
      const view = { session: c.var.session, runsHere, problem: thrown.message }
      return c.html(newPage(view), thrown.status)
    }
  })
  return room.routes
}

/** Raises `unprocessable`. */
function readName(fields: URLSearchParams): string {
  const name = (fields.get('name') ?? '').trim()
  const problem = projectNameProblem(name)
  if (problem === undefined) return name
  throw new AppError('unprocessable', `The name ${problem}.`)
}

async function create(c: Context<SignedIn>, tx: Transaction, name: string) {
  const { organizationId } = c.var.session.user
  const automation = await createOwnAutomation(tx, { organizationId, name })
  await writeAudit(tx, c.var.actor, {
    action: 'automation_created',
    target: { kind: 'automation', id: automation.automationId, name },
  })
  Object.assign(c.var.wide, {
    audit: 'automation_created',
    automation_id: automation.automationId,
  })
  return automation
}
