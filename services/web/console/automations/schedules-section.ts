import { html } from 'hono/html'
import type { Automation } from '../../../platform/automations/automations.ts'
import type { Html } from '../frame/parts.ts'

/** The way to the schedules of an automation. */
export const schedulesSection = ({ automation }: { readonly automation: Automation }): Html =>
  html`<section class="card" aria-labelledby="schedules">
    <div class="card-head"><h2 id="schedules">Schedules</h2></div>
    <p class="hint">Runs can start by themselves, at the times of a clock.</p>
    <p>
      <a class="button" href="/automations/${automation.automationId}/schedules"
        >Manage schedules</a
      >
    </p>
  </section>`
