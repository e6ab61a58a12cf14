import { html } from 'hono/html'
import type { TriggerDeliveryRecord } from '../../../platform/triggers/trigger-deliveries.ts'
import { mapDelivery } from '../../../platform/triggers/trigger-mapping.ts'
import type { Mapping } from '../../../platform/triggers/trigger-mapping.ts'
import { AppError } from '../../../shared/errors.ts'
import { pretty } from '../frame/format.ts'
import { copyable, pill } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'

/** Says what a mapping makes of deliveries, without starting a run. */
export const trySection = (mapping: Mapping, deliveries: readonly TriggerDeliveryRecord[]): Html =>
  html`<section class="card" aria-labelledby="test">
    <div class="card-head"><h2 id="test">With the last deliveries</h2></div>
    ${
      deliveries.length > 0
        ? html`<dl class="findings">${findings(mapping, deliveries)}</dl>`
        : html`<p class="hint">Nothing was delivered yet. Have the sender send something.</p>`
    }
  </section>`

/** One that takes too long ends the trial: the others would take as long. */
function findings(mapping: Mapping, deliveries: readonly TriggerDeliveryRecord[]): Html[] {
  const found: Html[] = []
  for (const delivery of deliveries) {
    const made = tryToMap(mapping, delivery)
    found.push(finding(delivery, made))
    if (made instanceof AppError && made.code === 'timeout') break
  }
  return found
}

function tryToMap(mapping: Mapping, { payload: body, headers }: TriggerDeliveryRecord) {
  try {
    return mapDelivery(mapping, { body, headers })
  } catch (thrown) {
    if (thrown instanceof AppError) return thrown
    throw thrown
  }
}

function finding({ deliveryId }: TriggerDeliveryRecord, made: ReturnType<typeof tryToMap>): Html {
  const [state, text] =
    made instanceof AppError
      ? [pill('bad', 'fails'), made.message]
      : made.inputs
        ? [pill('good', 'starts a run'), copyable('Inputs', pretty(made.inputs))]
        : [pill('idle', 'is skipped'), 'The filter leaves it out.']
  return html`<div>
    <dt><span class="mono break">${deliveryId}</span> ${state}</dt>
    <dd>${text}</dd>
  </div>`
}
