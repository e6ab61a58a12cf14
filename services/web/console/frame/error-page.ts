import { html } from 'hono/html'
import type { AppError, ErrorCode } from '../../../shared/errors.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { page, plainPage } from './layout.ts'
import type { Html } from './parts.ts'

/** An error, with the reference under which the log has it. */
interface ErrorPage {
  readonly error: AppError
  readonly requestId: string
  readonly session: Session | undefined
}

const TITLES: Partial<Record<ErrorCode, string>> = {
  forbidden: 'Not allowed',
  not_found: 'Not found',
  csrf_failed: 'This form has expired',
  payload_too_large: 'That was too large',
  unavailable: 'Not available right now',
}

/** A failed page request; inside the frame when the user is signed in. */
export function errorPage({ error, requestId, session }: ErrorPage): Html {
  const title = TITLES[error.code] ?? 'Something went wrong'
  const body = errorBody({ status: error.status, title, message: error.message, requestId })
  return session
    ? page({ title, session }, html`<div class="card lone">${body}</div>`)
    : plainPage(title, body)
}

/** The one page for addresses that have nothing: the same bytes for everybody. */
export function notFoundPage(): Html {
  const message = 'There is nothing at this address. It may have been moved or removed.'
  return plainPage('Not found', errorBody({ status: 404, title: 'Not found', message }))
}

interface ErrorBody {
  readonly status: number
  readonly title: string
  readonly message: string
  readonly requestId?: string
}

function errorBody({ status, title, message, requestId }: ErrorBody): Html {
  return html`<div class="error-body">
    <p class="error-status">${status}</p>
    <h1>${title}</h1>
    <p>${message}</p>
    ${requestId ? html`<p class="hint">Reference <code>${requestId}</code></p>` : ''}
    <p><a class="button" href="/">Go to the dashboard</a></p>
  </div>`
}
