import { html } from 'hono/html'
import type { Automation } from '../../../platform/automations/automations.ts'
import type { RunVersion, VersionSummary } from '../../../platform/projects/project-versions.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { automationHead } from '../frame/automation-tabs.ts'
import { page } from '../frame/layout.ts'
import { ago, automationReason, listTable, pill } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'

/** An automation that runs a version of a project. */
export interface DesignedPage {
  readonly session: Session
  readonly automation: Automation
  readonly running: RunVersion
  /** The newest published ones. */
  readonly versions: readonly VersionSummary[]
}

/** What was published for an automation that is designed here. */
export function designedPage({ session, automation, running, versions }: DesignedPage): Html {
  const project = `/projects/${running.projectId}`
  return page(
    { title: `${automation.name}: deploy`, session, current: '/automations' },
    html`${automationHead({ automation, tab: 'deploy' })} ${automationReason(automation)}
      <div class="columns">
        <section class="card flush" aria-labelledby="published">
          <div class="card-head"><h2 id="published">Published versions</h2></div>
          ${table(project, { running, versions })}
        </section>
        <section class="card" aria-labelledby="next">
          <div class="card-head"><h2 id="next">Deploy a change</h2></div>
          <p class="hint">
            This automation runs the newest published version of its project. Publishing one takes
            effect with the next run; runs in progress keep theirs.
          </p>
          <div class="buttons">
            <a class="button primary" href="${project}/new-version?from=${running.number}">Edit</a>
            <a class="button" href="${project}">Project</a>
          </div>
        </section>
      </div>`,
  )
}

const table = (
  project: string,
  { running, versions }: Pick<DesignedPage, 'running' | 'versions'>,
): Html =>
  listTable(
    'Published versions',
    ['Version', 'State', 'Published'],
    versions.map(
      ({ number, publishedAt, note }) =>
        html`<tr>
          <td class="lead">
            <a href="${project}/versions/${number}">Version ${number}</a>
            ${note === null ? '' : html`<span class="sub">${note}</span>`}
          </td>
          <td class="state">
            ${number === running.number ? pill('good', 'in use') : pill('idle', 'replaced')}
          </td>
          <td data-label="Published" class="quiet">
            ${publishedAt === null ? '–' : ago(publishedAt)}
          </td>
        </tr>`,
    ),
  )
