import type { Context, Hono } from 'hono'
import {
  deployAgain,
  deploySource,
  listCrewDeployments,
} from '../../../platform/crews/crew-deployments.ts'
import { findSourceNote } from '../../../platform/connections/regions.ts'
import { countCrewStorage } from '../../../platform/crews/crew-storage.ts'
import {
  removeAutomation,
  startAutomation,
  stopAutomation,
} from '../../../platform/crews/automation-life.ts'
import { findCrewSettings, restartCrew } from '../../../platform/crews/crew-settings.ts'
import { getRunVersion, listPublished } from '../../../platform/projects/project-versions.ts'
import type { Automation } from '../../../platform/automations/automations.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import { forgetSources } from '../../../platform/crews/sources.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { recordChange } from '../../api/crews/record-change.ts'
import { confirmPage } from '../frame/confirm-page.ts'
import { getOwnAutomation } from '../frame/own-automation.ts'
import { deploymentPageRoutes } from './deployment-routes.ts'
import { designedPage } from './designed-page.ts'
import type { DesignedPage } from './designed-page.ts'
import { environmentRoutes } from './environment-routes.ts'
import { newAutomationRoutes } from './new-routes.ts'
import { automationPath, deploymentPath, getOwnCrew } from './own-crew.ts'
import { crewPage, crewParts } from './page.ts'
import type { CrewPage } from './page.ts'
import { createFormReceiver, isOfSource } from './receive-form.ts'
import { repositoryPageRoutes } from './repository-routes.ts'
import { settingsRoutes } from './settings-routes.ts'
import { createRoom } from '../frame/room.ts'

const DEPLOYMENTS_SHOWN = 50

/** Serves the pages of automations that are made from sources. */
export function deploymentsRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql } = deps
  const room = createRoom(deps)
  const receive = createFormReceiver(deps)
  const path = '/automations/:automationId/deployments'

  const read = createReader(deps)

  room.page('viewer', path, async (c) => {
    const automation = await getOwnAutomation(c, sql)
    const isOwn = (await findCrewSettings(sql, automation.id)) !== undefined
    if (isOwn) return c.html(crewPage(await read(c)))
    return c.html(designedPage(await readDesigned(c, sql, automation)))
  })
  room.page('viewer', `/automations/:automationId/crew/live`, async (c) =>
    c.html(crewParts(await read(c))),
  )

  room.upload('editor', path, async (c) => {
    const view = await read(c)
    const { crew } = view
    try {
      const { source } = await receive(c, crew.settings)
      const deployment = await recordChange({ sql, ...c.var }, crew.automation, {
        action: 'crew_deployed',
        change: (tx) => deploySource(tx, crew, source.id),
        after: { source: source.digest.toString('hex') },
      })
      await forgetSources(sql, crew.automation.organizationId)
      return c.redirect(deploymentPath(crew.automation, deployment), 303)
    } catch (thrown) {
      if (!isOfSource(thrown)) throw thrown
      return c.html(crewPage({ ...view, problem: thrown.message }), thrown.status)
    }
  })

  room.routes.route('/', lifeRoutes(deps))
  room.routes.route('/', deploymentPageRoutes(deps))
  room.routes.route('/', settingsRoutes(deps))
  room.routes.route('/', environmentRoutes(deps))
  room.routes.route('/', repositoryPageRoutes(deps))
  room.routes.route('/', newAutomationRoutes(deps))
  return room.routes
}

/** Creates what reads the page of a crew. */
function createReader({ sql, config }: WebDeps) {
  return async (c: Context<SignedIn>): Promise<CrewPage> => {
    const crew = await getOwnCrew(c, sql)
    const { automationId } = crew.automation
    return {
      session: c.var.session,
      crew,
      deployments: await listCrewDeployments(sql, crew, { limit: DEPLOYMENTS_SHOWN }),
      storage: {
        ...(await countCrewStorage(sql, crew.automation.organizationId)),
        quotaBytes: config.CREW_STORAGE_MAX,
      },
      runsHere: config.CREW_PROCESSES,
      note: await findSourceNote(sql, crew.automation.organizationId),
      apiUrl: `${config.PLATFORM_BASE_URL}/designer/v2/automations/${automationId}`,
      notice: c.var.notice,
    }
  }
}

async function readDesigned(
  c: Context<SignedIn>,
  sql: Database,
  automation: Automation,
): Promise<DesignedPage> {
  const running = await getRunVersion(sql, automation)
  const key = { organizationId: automation.organizationId, projectId: running.projectId }
  const versions = await listPublished(sql, key, DEPLOYMENTS_SHOWN)
  return { session: c.var.session, automation, running, versions }
}

const ACTIONS = [
  ['stop', 'crew_stopped', stopAutomation],
  ['start', 'crew_started', startAutomation],
] as const

/** What is done to a crew as it is, up to its end. */
function lifeRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql } = deps
  const room = createRoom(deps, {
    'crew-restart': 'The crew is being restarted. Runs in progress are finished first.',
    'crew-stop': 'It is being stopped. Runs wait until it is started again.',
    'crew-start': 'It is being started.',
    'automation-removed': 'The automation is being deleted, with all that belongs to it.',
  })
  const path = '/automations/:automationId'

  room.form('editor', `${path}/crew/deploy-again`, async (c) => {
    const crew = await getOwnCrew(c, sql)
    const deployment = await recordChange({ sql, ...c.var }, crew.automation, {
      action: 'crew_deployed',
      change: (tx) => deployAgain(tx, crew),
    })
    return c.redirect(deploymentPath(crew.automation, deployment), 303)
  })
  room.form('editor', `${path}/crew/restart`, async (c) => {
    const crew = await getOwnCrew(c, sql)
    await recordChange({ sql, ...c.var }, crew.automation, {
      action: 'crew_restarted',
      change: (tx) => restartCrew(tx, crew),
    })
    return c.redirect(`${automationPath(crew.automation)}/deployments?notice=crew-restart`, 303)
  })
  for (const [verb, action, act] of ACTIONS) {
    room.form('editor', `${path}/crew/${verb}`, async (c) => {
      const automation = await getOwnAutomation(c, sql)
      await recordChange({ sql, ...c.var }, automation, {
        action,
        change: (tx) => act(tx, automation),
      })
      const tab = (await findCrewSettings(sql, automation.id)) ? 'deployments' : 'settings'
      return c.redirect(`${automationPath(automation)}/${tab}?notice=crew-${verb}`, 303)
    })
  }

  room.page('admin', `${path}/delete`, async (c) => {
    const automation = await getOwnAutomation(c, sql)
    const isOwn = (await findCrewSettings(sql, automation.id)) !== undefined
    return c.html(deletePage(c, automation, isOwn))
  })
  room.form('admin', `${path}/delete`, async (c) => {
    const automation = await getOwnAutomation(c, sql)
    await recordChange({ sql, ...c.var }, automation, {
      action: 'automation_removed',
      change: (tx) => removeAutomation(tx, automation),
    })
    return c.redirect('/automations?notice=automation-removed', 303)
  })
  return room.routes
}

const deletePage = (c: Context<SignedIn>, automation: Automation, isOwn: boolean) =>
  confirmPage({
    session: c.var.session,
    crumbs: [
      { path: '/automations', name: 'Automations' },
      { path: automationPath(automation), name: automation.name },
    ],
    question: `Delete ${automation.name}?`,
    consequence: isOwn
      ? 'Its crew is stopped, and its runs, deployments, logs, variables and sources are ' +
        'deleted. This cannot be undone.'
      : 'Its runs, schedules, webhooks, triggers, budgets and tokens are deleted; its address ' +
        'answers no more. This cannot be undone. Its project stays; publishing a version of it ' +
        'makes a new automation.',
    action: `${automationPath(automation)}/delete`,
    verb: 'Delete the automation',
    back: `${automationPath(automation)}/${isOwn ? 'deployments' : 'settings'}`,
  })
