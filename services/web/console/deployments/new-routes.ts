import type { Context, Hono } from 'hono'
import { html } from 'hono/html'
import { writeAudit } from '../../../platform/audit/audit.ts'
import { deploySource } from '../../../platform/crews/crew-deployments.ts'
import { createOwnAutomation } from '../../../platform/crews/own-crews.ts'
import { projectNameProblem } from '../../../platform/projects/projects.ts'
import { AppError } from '../../../shared/errors.ts'
import { inTransaction } from '../../../shared/postgres/database.ts'
import type { Transaction } from '../../../shared/postgres/database.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { createRoom } from '../frame/room.ts'
import { page } from '../frame/layout.ts'
import { csrfField, problemBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { automationPath, deploymentPath } from './own-crew.ts'
import { createFormReceiver, isOfSource } from './receive-form.ts'
import { sourceField } from './deploy-form.ts'
import { textField } from './parts.ts'

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

/** The form of a new automation. */
interface NewPage {
  readonly session: Session
  /** Programs run as processes of this machine. */
  readonly runsHere: boolean
  readonly name?: string
  readonly problem?: string | undefined
}

/** The page of the ways to a new automation: design it, import it, or deploy a program. */
const newPage = ({ session, runsHere, name = '', problem }: NewPage): Html =>
  page(
    { title: 'New automation', session, current: '/automations' },
    html`<nav class="crumbs" aria-label="Breadcrumb"><a href="/automations">Automations</a></nav>
      <div class="page-head"><h1>New automation</h1></div>
      <section class="card narrow" aria-labelledby="design">
        <div class="card-head"><h2 id="design">Design it here</h2></div>
        <p class="hint">Agents and tasks, which the platform runs itself. No program is needed.</p>
        <form method="post" action="/projects" class="stack">
          ${csrfField(session.csrfToken)}
          <label
            >Name
            <input name="name" maxlength="200" autocomplete="off" required />
          </label>
          <div class="buttons">
            <button class="button primary">Design a crew</button>
            <a class="button" href="/import-project">Import a CrewAI project</a>
          </div>
        </form>
      </section>
      <section class="card narrow" aria-labelledby="deploy">
        <div class="card-head"><h2 id="deploy">Deploy a program of your own</h2></div>
        <p class="hint">A project of CrewAI with code, or any program, from its source.</p>
        ${problemBox(problem)}
        <form method="post" action="/new-automation" enctype="multipart/form-data" class="stack">
          ${csrfField(session.csrfToken)} ${textField({ name: 'name', label: 'Name', value: name })}
          ${sourceField(runsHere)}
          <div class="buttons"><button class="button">Create and deploy</button></div>
        </form>
        <details class="more">
          <summary>It needs keys or settings first</summary>
          <form method="post" action="/new-automation/empty" class="stack">
            ${csrfField(session.csrfToken)}
            <label
              >Name of the automation
              <input name="name" maxlength="200" autocomplete="off" required />
            </label>
            <div class="buttons"><button class="button">Create without a source</button></div>
          </form>
        </details>
      </section>`,
  )
