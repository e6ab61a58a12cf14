import { html } from 'hono/html'
import type { CrewLog, LogStream } from '../../../platform/crews/crew-logs.ts'
import type { ListedDeployment, ListedSource } from '../../../platform/crews/crew-deployments.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { page } from '../frame/layout.ts'
import { noticeBox, problemBox, time } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { automationPath, deploymentPath } from './own-crew.ts'
import type { OwnCrew } from '../../api/crews/own-crew.ts'
import { logSection } from './log-section.ts'
import { deployerOf, crumbs, isOpen, postButton, sourceText, statePill } from './parts.ts'

/** The page of a deployment, as its routes read it. */
export interface DeploymentPage {
  readonly session: Session
  readonly crew: OwnCrew
  readonly deployment: ListedDeployment
  readonly logs: Readonly<Record<LogStream, CrewLog>>
  /** The text of the lines that are shown of each; empty for all. */
  readonly find: Readonly<Record<LogStream, string>>
  readonly notice?: string | undefined
}

/** The page of a deployment: how far it came, why, and what it wrote. */
export function deploymentPage(view: DeploymentPage): Html {
  const { session, crew, deployment, notice } = view
  const { automation } = crew
  const back = { path: `${automationPath(automation)}/deployments`, name: 'Crew' }
  return page(
    { title: `Deployment ${deployment.number}`, session, current: '/automations' },
    html`${crumbs(automation, back)} ${noticeBox(notice)} ${deploymentParts(view)}`,
  )
}

/** What changes while a deployment goes on; the script of the console asks for it again. */
export function deploymentParts(view: DeploymentPage): Html {
  const { crew, deployment, logs, find } = view
  const path = deploymentPath(crew.automation, deployment)
  const asked = new URLSearchParams(Object.entries(find).filter(([, text]) => text !== ''))
  const live = asked.size === 0 ? `${path}/live` : `${path}/live?${asked.toString()}`
  const section = (title: string, stream: LogStream): Html =>
    logSection({ title, stream, log: logs[stream], path, find: find[stream] })
  return html`<div
    data-live="${isOpen(deployment) ? live : ''}"
    data-say="Deployment ${deployment.number}: ${deployment.state}"
  >
    <div class="page-head" data-part="head">
      <h1>Deployment ${deployment.number}</h1>
      ${statePill(deployment.state)}
      <div class="buttons push">
        ${
          isOpen(deployment)
            ? html`<a class="button" href="${path}" data-without-script>Refresh</a>`
            : ''
        }
        ${rollBackButton(view, path)}
      </div>
    </div>
    <div data-part="reason">${reasonBox(deployment)}</div>
    <div class="columns">
      <div>${streamsOf(view).map((stream) => section(LOG_TITLES[stream], stream))}</div>
      <div><div data-part="facts">${factsSection(deployment)}</div></div>
    </div>
  </div>`
}

const LOG_TITLES = { build: 'Build log', crew: 'Log of the crew' } as const

const hasFailed = ({ state }: ListedDeployment): boolean =>
  state === 'Crew has Failed' || state === 'Crew is Offline'

/** The log of what failed is first; a crew that was never started has none. */
function streamsOf({ deployment, logs }: DeploymentPage): readonly LogStream[] {
  if (!hasFailed(deployment)) return ['build', 'crew']
  return logs.crew.text === '' ? ['build'] : ['crew', 'build']
}

function reasonBox(deployment: ListedDeployment): Html | string {
  const { reason } = deployment
  if (hasFailed(deployment)) return problemBox(reason ?? undefined)
  return reason ? html`<section class="card" aria-label="Reason"><p>${reason}</p></section>` : ''
}

/** Back to one that is no longer the wanted one, as long as its source is kept. */
function rollBackButton({ session, deployment }: DeploymentPage, path: string): Html | string {
  if (isOpen(deployment) || deployment.onlineAt === null) return ''
  return deployment.source.isKept
    ? postButton(session, { action: `${path}/roll-back`, text: 'Roll back to this one' })
    : html`<span class="hint">Its source is no longer kept.</span>`
}

function leftOutText({ leftOut, leftOutMore }: ListedSource): string {
  const more = leftOutMore === 0 ? [] : [`and ${leftOutMore} more`]
  return [...leftOut, ...more].join(', ')
}

function factsSection(deployment: ListedDeployment): Html {
  const { source, settings, image, createdAt, onlineAt, endedAt, rolledBackFrom } = deployment
  const moment = (name: string, date: Date | null): Html | string =>
    date
      ? html`<dt>${name}</dt>
          <dd>${time(date)}</dd>`
      : ''
  return html`<section class="card" aria-labelledby="facts">
    <div class="card-head"><h2 id="facts">Details</h2></div>
    <dl class="facts">
      <dt>Source</dt>
      <dd>${sourceText(deployment)}</dd>
      ${
        source.leftOut.length === 0
          ? ''
          : html`<dt>Left out</dt>
              <dd class="mono break">${leftOutText(source)}</dd>`
      }
      <dt>Digest</dt>
      <dd class="mono select break">${source.digest.slice(0, 16)}</dd>
      ${moment('Made', createdAt)} ${moment('Online', onlineAt)} ${moment('Ended', endedAt)}
      <dt>By</dt>
      <dd>${deployerOf(deployment)}</dd>
      ${
        rolledBackFrom === null
          ? ''
          : html`<dt>As</dt>
              <dd>Deployment ${rolledBackFrom}</dd>`
      }
      <dt>Way to run it</dt>
      <dd>${settings.way ?? 'Default of the platform'}</dd>
      ${
        image === null
          ? ''
          : html`<dt>Image</dt>
              <dd class="mono break">${image}</dd>`
      }
    </dl>
  </section>`
}
