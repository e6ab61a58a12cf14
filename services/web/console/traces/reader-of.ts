import type { Context } from 'hono'
import { AppError } from '../../../shared/errors.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import type { TraceReader } from '../../traces/trace-reader.ts'

/** The traces of the organization of a session. Raises `not_found` where no traces are kept. */
export function readerOf(c: Context<SignedIn>, { traces }: WebDeps): TraceReader {
  if (traces) return traces(c.var.session.user.organizationId)
  throw new AppError(
    'not_found',
    'This installation keeps no traces: no trace collector is configured. Operators turn it on ' +
      'with collector.enabled=true in the values of the chart; web then has COLLECTOR_URL and ' +
      'COLLECTOR_JWT_SECRET.',
  )
}
