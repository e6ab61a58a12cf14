import { html } from 'hono/html'
import type { Trigger } from '../../../platform/triggers/triggers.ts'
import { relativeTime } from '../frame/format.ts'
import { copyable } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'

/** Where a third party sends to, and until when its former secret is good. */
export const addressSection = ({
  url,
  hasSecret,
  previousSecretUntil,
}: Pick<Trigger, 'hasSecret' | 'previousSecretUntil'> & { readonly url: string }): Html =>
  html`<section class="card" aria-labelledby="address">
    <div class="card-head"><h2 id="address">Address</h2></div>
    ${copyable('Address', url)}
    <p class="hint">
      The sender posts its events there.
      ${hasSecret ? '' : 'Each is refused until you enter the secret of the sender, or make one.'}
      ${
        previousSecretUntil
          ? `The former secret is good as well; it ends ${relativeTime(previousSecretUntil)}.`
          : ''
      }
    </p>
  </section>`
