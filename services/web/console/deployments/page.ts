import { html } from 'hono/html'
import { SOURCES_KEPT } from '../../../platform/crews/sources.ts'
import type { ListedDeployment } from '../../../platform/crews/crew-deployments.ts'
import { IMAGES_KEPT } from '../../../platform/crews/crew-images.ts'
import type { CrewStorage } from '../../../platform/crews/crew-storage.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { automationHead } from '../frame/automation-tabs.ts'
import { byteSize } from '../frame/format.ts'
import { page } from '../frame/layout.ts'
import {
  ago,
  automationReason,
  emptyState,
  listTable,
  noticeBox,
  warningBox,
} from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { deploySection } from './deploy-form.ts'
import { automationPath, deploymentPath } from './own-crew.ts'
import type { OwnCrew } from '../../api/crews/own-crew.ts'
import { deployerOf, isOpen, postButton, sourceText, statePill } from './parts.ts'

/** The page of the crew of an automation, as its routes read it. */
export interface CrewPage {
  readonly session: Session
  readonly crew: OwnCrew
  /** The newest ones. */
  readonly deployments: readonly ListedDeployment[]
  /** The address of the automation in the API. */
  readonly apiUrl: string
  /** Programs run as processes of this machine. */
  readonly runsHere: boolean
  /** What the organization's sources and images take, and may take, in bytes. */
  readonly storage: CrewStorage & { readonly quotaBytes: number }
  /** What a rule on regions cannot do for it. */
  readonly note: string | null
  readonly notice?: string | undefined
  /** Why a source was refused. */
  readonly problem?: string | undefined
}

/** The page of the crew of an automation: how it is, what was deployed, and what to do with it. */
export const crewPage = (view: CrewPage): Html =>
  page(
    {
      title: `Crew of ${view.crew.automation.name}`,
      session: view.session,
      current: '/automations',
    },
    crewParts(view),
  )

/**
 * The content of the page. The script of the console asks for it again while a deployment is in
 * progress, and swaps the parts that differ.
 */
export function crewParts(view: CrewPage): Html {
  const { session, crew, deployments, notice, problem, apiUrl, runsHere } = view
  const { automation } = crew
  const isLive = deployments.some(isOpen) || crew.settings.removingSince !== null
  return html`<div
    data-live="${isLive ? `${automationPath(automation)}/crew/live` : ''}"
    data-say="${automation.status}"
  >
    <div data-part="head">
      ${automationHead({ automation, tab: 'deploy', aside: isLive ? refresh(view) : '' })}
    </div>
    ${noticeBox(notice)} ${view.note ? warningBox(view.note) : ''}
    ${crew.settings.removingSince ? warningBox('The automation is being deleted.') : ''}
    <div class="columns">
      <div>
        <div data-part="reason">${deployments.length > 0 ? automationReason(automation) : ''}</div>
        <section class="card flush" aria-labelledby="history" data-part="history">
          <div class="card-head"><h2 id="history">Deployments</h2></div>
          ${deployments.length > 0 ? history(view) : nothingDeployed(view)}
        </section>
      </div>
      <div>
        ${deploySection({ session, automation, apiUrl, problem, runsHere })} ${lifeSection(view)}
      </div>
    </div>
  </div>`
}

const refresh = ({ crew }: CrewPage): Html =>
  html`<div class="buttons push" data-without-script>
    <a class="button" href="${automationPath(crew.automation)}/deployments">Refresh</a>
  </div>`

const nothingDeployed = ({ crew }: CrewPage): Html =>
  emptyState(
    'play',
    'Nothing is deployed yet',
    html`<a href="#deploy">Send a source</a>, and its progress is shown here. If the crew needs keys
      or other settings, give it
      <a href="${automationPath(crew.automation)}/environment">its environment</a> first.`,
  )

const history = ({ crew: { automation }, deployments, storage }: CrewPage): Html =>
  html`${listTable(
      'Deployments',
      ['Deployment', 'State', 'Since', 'By'],
      deployments.map(
        (each) =>
          html`<tr>
            <td class="lead">
              <a href="${deploymentPath(automation, each)}">Deployment ${each.number}</a>
              <span class="sub">${sourceText(each)}</span>
            </td>
            <td class="state">${statePill(each.state)}</td>
            <td data-label="Since">${ago(each.stateSince)}</td>
            <td data-label="By">${deployerOf(each)}</td>
          </tr>`,
      ),
    )}
    <p class="card-foot hint">
      The sources of the last ${SOURCES_KEPT} deployments are kept, and the images of the last
      ${IMAGES_KEPT}: open one to go back to it. ${storageText(storage)}
    </p>`

const storageText = ({ sourceBytes, imageBytes, quotaBytes }: CrewPage['storage']): string =>
  `The sources of your organization take ${byteSize(sourceBytes)} and its images ` +
  `${byteSize(imageBytes)}, of ${byteSize(quotaBytes)} together.`

function lifeSection({ session, crew, deployments }: CrewPage): Html {
  const path = automationPath(crew.automation)
  const act = (action: string, text: string): Html =>
    postButton(session, { action: `${path}/crew/${action}`, text })
  return html`<section class="card" aria-labelledby="life">
    <div class="card-head"><h2 id="life">Crew</h2></div>
    <ul class="plan">
      <li>
        <a href="${path}/crew-repository">Git repository</a>
        <span class="sub">pull and deploy its commits</span>
      </li>
      <li><a href="${path}/environment">Environment</a> <span class="sub">variables</span></li>
      <li>
        <a href="${path}/crew-settings">Settings</a>
        <span class="sub">size, Python, what it may reach</span>
      </li>
    </ul>
    ${
      deployments.length > 0
        ? html`<div class="buttons">
            ${postButton(session, { action: `${path}/crew/deploy-again`, text: 'Deploy again' })}
            ${act('restart', 'Restart')}
            ${crew.settings.stoppedAt ? act('start', 'Start') : act('stop', 'Stop')}
          </div>`
        : ''
    }
    <p><a class="button danger" href="${path}/delete">Delete the automation</a></p>
  </section>`
}
