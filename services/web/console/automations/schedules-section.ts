import { html } from 'hono/html'
import type { Automation } from '../../../platform/automations/automations.ts'
import type { Html } from '../frame/parts.ts'

/** The ways to the schedules and the triggers of an automation. */
export const schedulesSection = ({ automation }: { readonly automation: Automation }): Html =>
  html`<section class="card" aria-labelledby="schedules">
      <div class="card-head"><h2 id="schedules">Schedules</h2></div>
      <p class="hint">Runs can start by themselves, at the times of a clock.</p>
      <p>
        <a class="button" href="/automations/${automation.automationId}/schedules"
          >Manage schedules</a
        >
      </p>
    </section>
    <section class="card" aria-labelledby="triggers">
      <div class="card-head"><h2 id="triggers">Triggers</h2></div>
      <p class="hint">Events of other systems, such as GitHub or Stripe, can start runs.</p>
      <p>
        <a class="button" href="/automations/${automation.automationId}/triggers"
          >Manage triggers</a
        >
      </p>
    </section>`
