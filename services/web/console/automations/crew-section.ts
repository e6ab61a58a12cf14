import { html } from 'hono/html'
import type { Automation } from '../../../platform/automations/automations.ts'
import type { Html } from '../frame/parts.ts'

/** The way from the page of an automation to the crew that it is made of. */
export const crewSection = ({ automationId }: Pick<Automation, 'automationId'>): Html =>
  html`<section class="card" aria-labelledby="crew">
    <div class="card-head"><h2 id="crew">Crew</h2></div>
    <p class="hint">It runs a program of yours, made from a source.</p>
    <p>
      <a class="button" href="/automations/${automationId}/deployments">Deployments</a>
      <a class="button" href="/automations/${automationId}/environment">Environment</a>
    </p>
  </section>`
