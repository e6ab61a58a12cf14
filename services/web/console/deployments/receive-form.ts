import type { Context } from 'hono'
import { storeArchive } from '../../../platform/crews/source-archive/store-archive.ts'
import type { Source } from '../../../platform/crews/sources.ts'
import { AppError } from '../../../shared/errors.ts'
import { CSRF_FIELD } from '../../gate/callers/csrf-field.ts'
import { formExpired, isSame, requireSameOrigin } from '../../gate/callers/forms.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { createReceiver } from '../../intake/source-uploads/receive-source.ts'

/** A form with a source, which is stored. */
interface ReceivedForm {
  readonly fields: URLSearchParams
  readonly source: Source
}

/** Receives a form with a source; `check` may refuse its other fields before it is stored. */
type ReceiveForm = (
  c: Context<SignedIn>,
  options: {
    readonly entrypoint: string | null
    readonly check?: (fields: URLSearchParams) => void
  },
) => Promise<ReceivedForm>

/**
 * Creates what receives forms with sources. The function raises `csrf_failed`, what `check` and
 * storing raise.
 */
export function createFormReceiver({ sql, config }: Pick<WebDeps, 'sql' | 'config'>): ReceiveForm {
  const { PLATFORM_BASE_URL: baseUrl, CREW_STORAGE_MAX: quotaBytes } = config
  const receive = createReceiver()
  return async (c, { entrypoint, check }) => {
    requireSameOrigin(c, baseUrl)
    const { user, csrfToken } = c.var.session
    return receive(c.req.raw, async ({ path, name, fields }) => {
      if (!isSame(fields.get(CSRF_FIELD) ?? '', csrfToken)) throw formExpired()
      check?.(fields)
      const { organizationId } = user
      const owner = { organizationId, uploadedBy: user.id, name, entrypoint, quotaBytes }
      return { fields, source: await storeArchive(sql, path, owner) }
    })
  }
}

type Refused = AppError & { readonly status: 400 | 409 | 413 | 422 }

/** Recognizes the refusal of a source, which its form shows. */
export const isOfSource = (thrown: unknown): thrown is Refused =>
  thrown instanceof AppError && [400, 409, 413, 422].includes(thrown.status)
