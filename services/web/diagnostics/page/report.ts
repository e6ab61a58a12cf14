import { html } from 'hono/html'
import { absoluteTime, duration, plural, pretty } from '../../console/frame/format.ts'
import { icon } from '../../console/frame/icons.ts'
import { copyable } from '../../console/frame/parts.ts'
import type { Html } from '../../console/frame/parts.ts'
import { CHECKS, COMPONENT_NAMES } from '../checks/list.ts'
import type { ComponentName, Components } from '../checks/list.ts'
import type { Diagnosis } from '../diagnoses.ts'
import type { ComponentResult } from '../finding.ts'
import { isCritical } from '../report.ts'
import type { Report } from '../report.ts'
import { VERDICT_TONES, latencyBadge, statusPill } from './parts.ts'

const VERDICTS = {
  ok: 'Everything that is configured works',
  degraded: 'The platform works, but not all of it',
  fail: 'The platform does not work',
} as const satisfies Record<Report['status'], string>

/** One report: the verdict, the failures, the other components, and the sections of the checks. */
export function reportSection(diagnosis: Diagnosis, pod: string): Html {
  const { components } = diagnosis.report
  const failing = COMPONENT_NAMES.filter((name) => components[name].status === 'fail').toSorted(
    (a, b) => Number(isCritical(b)) - Number(isCritical(a)),
  )
  const others = COMPONENT_NAMES.filter((name) => components[name].status !== 'fail')
  return html`<div class="probe-report">
    ${verdictBanner(diagnosis, { failing: failing.length, pod })}
    ${failing.map((name) => failureCard(name, components))}
    ${
      others.length > 0
        ? html`<section class="card flush" aria-labelledby="components">
            <div class="card-head">
              <h2 id="components">${failing.length > 0 ? 'Other components' : 'Components'}</h2>
            </div>
            <ul class="probe-list">
              ${others.map((name) => componentItem(name, components))}
            </ul>
          </section>`
        : ''
    }
    ${/* The last first: the platform's own Deployments stand above the crews. */ ''}
    ${COMPONENT_NAMES.toReversed().map((name) => checkSection(name, components))}
    ${jsonSection(diagnosis)}
  </div>`
}

function verdictBanner(
  { id, startedAt, report }: Diagnosis,
  { failing, pod }: { failing: number; pod: string },
): Html {
  const tone = VERDICT_TONES[report.status]
  const checked = COMPONENT_NAMES.filter(
    (name) => report.components[name].status !== 'skipped',
  ).length
  const skipped = COMPONENT_NAMES.length - checked
  const warned = COMPONENT_NAMES.flatMap((name) => warnings(report.components[name])).length
  const counts = [
    failing > 0
      ? `${failing} of ${plural(checked, 'checked component')} failed`
      : `${plural(checked, 'component')} checked`,
    ...(failing === 0 && skipped > 0 ? [`${skipped} skipped`] : []),
    ...(warned > 0 ? [plural(warned, 'warning')] : []),
  ]
  return html`<section class="card verdict ${tone}" aria-label="Verdict" role="status">
    <span class="verdict-icon">${icon(report.status === 'ok' ? 'check' : 'alert')}</span>
    <div class="verdict-text">
      <h2>${VERDICTS[report.status]}</h2>
      <p>${counts.join(', ')}, in ${duration(report.duration_ms)}.</p>
    </div>
    <div class="verdict-actions">
      <a class="button" href="?download=1&amp;run=${id}">Download JSON</a>
      <a class="button primary" href="/admin/platform_health">Run again</a>
    </div>
    <dl class="verdict-facts">
      ${fact('Version', report.environment.version)}
      ${fact('Sign-in', report.environment.auth_provider)} ${fact('Pod', pod)}
      ${fact('Started', absoluteTime(startedAt))}
    </dl>
  </section>`
}

const fact = (name: string, value: string): Html =>
  html`<div>
    <dt>${name}</dt>
    <dd>${value}</dd>
  </div>`

function failureCard(name: ComponentName, components: Components): Html {
  const result: ComponentResult = components[name]
  return html`<section class="card failed probe-failure" aria-labelledby="failed-${name}">
    <div class="card-head">
      <h2 id="failed-${name}">${CHECKS[name].title}</h2>
      <span class="pair">
        ${isCritical(name) ? html`<span class="hint">Critical</span>` : ''} ${latencyBadge(result)}
        ${statusPill(result.status)}
      </span>
    </div>
    <p class="probe-error">${result.error}</p>
    ${failureList(name, components)}
    ${
      result.details?.remediation
        ? html`<p class="remedy"><strong>What to do</strong> ${result.details.remediation}</p>`
        : ''
    }
    ${warnings(result)} ${facts(name, components)}
  </section>`
}

function componentItem(name: ComponentName, components: Components): Html {
  const { skipped, title } = CHECKS[name]
  const result: ComponentResult = components[name]
  return html`<li>
    <div class="probe-name">
      <h3>${title}</h3>
      ${
        result.status === 'skipped' ? html`<p class="hint">${skipped}</p>` : facts(name, components)
      }
      ${warnings(result)}
    </div>
    <span class="pair">${latencyBadge(result)} ${statusPill(result.status)}</span>
  </li>`
}

const warnings = ({ details }: ComponentResult): Html[] =>
  (details?.warnings ?? []).map(
    ({ message, remediation }) =>
      html`<p class="remedy warning"><strong>Warning</strong> ${message}. ${remediation}</p>`,
  )

/** The code of a failure, and what passed. */
function facts(name: ComponentName, components: Components): Html | string {
  const items = factsOf(name, components)
  if (items.length === 0) return ''
  return html`<ul class="probe-facts">
    ${items}
  </ul>`
}

const jsonSection = ({ report }: Diagnosis): Html =>
  html`<details class="card more probe-json">
    <summary>Report as JSON</summary>
    ${copyable('Report', pretty(report))}
  </details>`

/**
 * Lists items for a component: its code, provider and status, the facts of its check, and what
 * passed.
 */
function factsOf<Name extends ComponentName>(name: Name, components: Components): readonly Html[] {
  const { page, passes = {} } = CHECKS[name]
  const { details, provider, http_status, checks = [] } = components[name]
  return [
    ...(details?.code ? [html`<li class="mono">${details.code}</li>`] : []),
    ...(provider ? [html`<li>${provider}</li>`] : []),
    ...(http_status ? [html`<li>HTTP ${http_status}</li>`] : []),
    ...(page?.facts?.(details ?? {}) ?? []),
    ...checks.map((part) => passedPart(part, passes)),
  ]
}

/** A part that passed, in words; its title is its name in the report. */
const passedPart = (name: string, words: Readonly<Record<string, string>>): Html =>
  html`<li class="passed" title="${name}">${Object.hasOwn(words, name) ? words[name] : name}</li>`

/** The list below the error of a failure, from its check. */
const failureList = <Name extends ComponentName>(
  name: Name,
  components: Components,
): Html | string => CHECKS[name].page?.failure?.(components[name].details ?? {}) ?? ''

/** The section of a check. */
const checkSection = <Name extends ComponentName>(
  name: Name,
  components: Components,
): Html | string => CHECKS[name].page?.section?.(components[name].details ?? {}) ?? ''
