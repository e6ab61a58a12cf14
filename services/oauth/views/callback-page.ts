import { createHash } from 'node:crypto'
import { html, raw } from 'hono/html'
import type { TakenAuthorization } from '../../platform/connections/oauth-authorizations.ts'
import type { AppError } from '../../shared/errors.ts'

type Html = ReturnType<typeof html>

const STYLE = `
:root { color-scheme: light dark }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: Canvas;
  color: CanvasText; font: 16px/1.5 system-ui, sans-serif }
main { box-sizing: border-box; width: min(30rem, 100%); padding: 2rem }
h1 { margin: 0 0 .5rem; font-size: 1.5rem; line-height: 1.25 }
p { margin: 0 0 1rem; overflow-wrap: anywhere }
small { opacity: .7 }
`

// In one piece: the policy allows exactly these characters, and a formatter of templates would add
// some.
const STYLE_ELEMENT = raw(`<style>${STYLE}</style>`)

/** The Content-Security-Policy of a page: its own style, and no script, form, frame or picture. */
export const PAGE_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Renders the page after a successful authorization. */
export function connectedPage({ organization, provider, name }: TakenAuthorization): Html {
  return page(
    'Connected',
    html`<p>
        <strong>${organization}</strong> can now use your account at <strong>${provider}</strong> as
        the connection <strong>${name}</strong>.
      </p>
      <p>You may close this window.</p>
      <p>
        <small
          >If you did not mean to allow this, take the access back in your account at
          ${provider}.</small
        >
      </p>`,
  )
}

/** Renders the page after a failed authorization. */
export function failedPage(error: AppError, requestId: string): Html {
  return page(
    'Not connected',
    html`<p>${error.message}</p>
      <p><small>Reference ${requestId}</small></p>`,
  )
}

function page(title: string, body: Html): Html {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <title>${title}</title>
        ${STYLE_ELEMENT}
      </head>
      <body>
        <main>
          <h1>${title}</h1>
          ${body}
        </main>
      </body>
    </html>`
}
