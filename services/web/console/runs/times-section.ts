import { html } from 'hono/html'
import type { IdentityToken } from '../../../platform/connections/identity-tokens.ts'
import type { VersionOfRun } from '../../../platform/runs/run-again.ts'
import type { Run } from '../../../platform/runs/runs.ts'
import { absoluteTime } from '../frame/format.ts'
import { starterOf, time } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'

/** The times of a run, who started it, and the version that it is of. */
export function timesSection(
  { run, version }: { readonly run: Run; readonly version: VersionOfRun },
  versionPath: string,
): Html {
  const { id, queuedAt, startedAt, finishedAt } = run
  return html`<section class="card" aria-labelledby="times">
    <div class="card-head"><h2 id="times">Times</h2></div>
    <dl class="facts">
      <dt>Queued</dt>
      <dd>${time(queuedAt)}</dd>
      <dt>Started</dt>
      <dd>${startedAt ? absoluteTime(startedAt) : '–'}</dd>
      <dt>Finished</dt>
      <dd>${finishedAt ? absoluteTime(finishedAt) : '–'}</dd>
      <dt>Started by</dt>
      <dd>${starterOf(run)}</dd>
      <dt>Version</dt>
      <dd>
        <a href="${versionPath}">Version ${version.version}</a>
      </dd>
      <dt>Kickoff ID</dt>
      <dd class="mono select">${id}</dd>
    </dl>
  </section>`
}

/** The identities that the platform signed for a run; nothing when there are none. */
export function identitySection(identities: readonly IdentityToken[]): Html | string {
  if (identities.length === 0) return ''
  return html`<section class="card" aria-labelledby="identities">
    <div class="card-head"><h2 id="identities">Identities</h2></div>
    <dl class="facts">
      ${identities.map(
        ({ connection, audience, issuedAt, expiresAt }) =>
          html`<dt>${connection}</dt>
            <dd>
              <span class="mono break">${audience}</span>
              <span class="sub">${time(issuedAt)}, ends ${time(expiresAt)}</span>
            </dd>`,
      )}
    </dl>
  </section>`
}
