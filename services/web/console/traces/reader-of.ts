import type { Context } from 'hono'
import { AppError } from '../../../shared/errors.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import type { TraceReader } from '../../traces/trace-reader.ts'

/** The traces of the organization of a session. Raises `not_found` where no traces are kept. */
export function readerOf(c: Context<SignedIn>, { traces }: WebDeps): TraceReader {
  if (traces) return traces(c.var.session.user.organizationId)
  throw new AppError(
    'not_found',
    'This installation keeps no traces: the trace collector is off (chart: collector.enabled).',
  )
}
