import { html } from 'hono/html'
import type { PastRun } from '../diagnostics/probe.ts'
import { COMPONENT_NAMES } from '../diagnostics/report.ts'
import { absoluteTime, duration } from './format.ts'
import { pill } from './parts.ts'
import type { Html, Tone } from './parts.ts'
import type { CrewDetails, DeploymentDetails, ShownDetails } from './platform-health-details.ts'
import { TITLES, verdictPill } from './platform-health-parts.ts'

const CONDITION_TONES: Readonly<Record<string, Tone>> = {
  ready: 'good',
  progressing: 'busy',
  unready: 'bad',
  missing: 'bad',
  scaled_to_zero: 'bad',
}

/** The Deployments of the chart, one row each. */
export function deploymentsTable({ namespace, deployments }: ShownDetails): Html | string {
  if (deployments.length === 0) return ''
  return html`<section class="card flush" aria-labelledby="deployments">
    <div class="card-head">
      <h2 id="deployments">Platform Deployments</h2>
      ${namespace ? html`<span class="hint">Namespace <code>${namespace}</code></span>` : ''}
    </div>
    <table class="list">
      <caption class="unseen">
        Deployments of the platform
      </caption>
      <thead>
        <tr>
          <th scope="col">Deployment</th>
          <th scope="col">Condition</th>
          <th scope="col" class="number">Ready</th>
          <th scope="col" class="number">Desired</th>
          <th scope="col" class="number">Updated</th>
        </tr>
      </thead>
      <tbody>
        ${deployments.map(deploymentRow)}
      </tbody>
    </table>
  </section>`
}

function deploymentRow(row: DeploymentDetails): Html {
  return html`<tr>
    <td class="lead">
      <span class="mono">${row.name}</span>
      ${row.message ? html`<span class="sub">${row.message}</span>` : ''}
    </td>
    <td class="state">${pill(CONDITION_TONES[row.condition] ?? 'idle', row.condition)}</td>
    <td data-label="Ready" class="number">${row.ready_replicas}</td>
    <td data-label="Desired" class="number">${row.desired_replicas}</td>
    <td data-label="Updated" class="number">${row.updated_replicas}</td>
  </tr>`
}

/** The crews of the internal organization: what their records say, and whether their pods are there. */
export function crewsTable(details: ShownDetails): Html | string {
  const { internal_deployments: rows, internal_organization: organization, crew_pods } = details
  if (rows.length === 0) return ''
  const pods = new Map(crew_pods?.deployments.map((each) => [each.slug, each]))
  return html`<section class="card flush" aria-labelledby="crews">
    <div class="card-head">
      <h2 id="crews">Internal crews</h2>
      ${organization ? html`<span class="hint">Organization ${organization}</span>` : ''}
    </div>
    <table class="list">
      <caption class="unseen">
        Crews of the internal organization
      </caption>
      <thead>
        <tr>
          <th scope="col">Crew</th>
          <th scope="col">Record</th>
          <th scope="col">Pods</th>
          <th scope="col">Namespace</th>
        </tr>
      </thead>
      <tbody>
        ${rows.map((row) => crewRow(row, pods.get(row.slug)))}
      </tbody>
    </table>
  </section>`
}

function crewRow(
  { slug, status, ready }: ShownDetails['internal_deployments'][number],
  pods: CrewDetails | undefined,
): Html {
  return html`<tr>
    <td class="lead">
      <span class="mono">${slug}</span>
      ${pods ? html`<span class="sub mono">${pods.app_id}</span>` : ''}
    </td>
    <td class="state">${pill(ready ? 'good' : 'bad', status.replace(/^Crew (is|has) /, ''))}</td>
    <td data-label="Pods">
      ${
        pods
          ? pill(pods.healthy ? 'good' : 'bad', pods.healthy ? 'ready' : 'not ready')
          : html`<span class="quiet">Not checked</span>`
      }
    </td>
    <td data-label="Namespace" class="wide mono">${pods?.namespace ?? '–'}</td>
  </tr>`
}

/** Which variables the LLM connections lack. */
export function credentialsTable({ missing_credentials: rows }: ShownDetails): Html | string {
  if (rows.length === 0) return ''
  return html`<ul class="plan">
    ${rows.map(
      ({ connection_id, provider, missing, any_of }) =>
        html`<li>
          Connection ${connection_id} (${provider}) lacks
          ${missing.map((name, index) => html`${index > 0 ? ', ' : ''}<code>${name}</code>`)}
          ${any_of.map(
            (names) => html`<span class="sub">One of ${names.join(', ')} will do.</span>`,
          )}
        </li>`,
    )}
  </ul>`
}

/** The runs that this pod remembers. */
export function runsTable(runs: readonly PastRun[], pod: string): Html | string {
  if (runs.length === 0) return ''
  return html`<section class="card flush" aria-labelledby="runs">
    <div class="card-head">
      <h2 id="runs">Last runs</h2>
      <span class="hint break">Pod <code>${pod}</code></span>
    </div>
    <table class="list">
      <caption class="unseen">
        Last runs of this pod
      </caption>
      <thead>
        <tr>
          <th scope="col">Started</th>
          <th scope="col">Verdict</th>
          <th scope="col">Failed components</th>
          <th scope="col" class="number">Duration</th>
        </tr>
      </thead>
      <tbody>
        ${runs.map(runRow)}
      </tbody>
    </table>
  </section>`
}

function runRow({ id, startedAt, report }: PastRun): Html {
  const failing = COMPONENT_NAMES.filter((name) => report.components[name].status === 'fail')
  return html`<tr>
    <td class="lead"><a href="?download=1&amp;run=${id}">${absoluteTime(startedAt)}</a></td>
    <td class="state">${verdictPill(report.status)}</td>
    <td data-label="Failed components" class="wide">
      ${
        failing.length > 0
          ? failing.map((name) => TITLES[name]).join(', ')
          : html`<span class="quiet">None</span>`
      }
    </td>
    <td data-label="Duration" class="number">${duration(report.duration_ms)}</td>
  </tr>`
}
