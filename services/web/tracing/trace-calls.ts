import { SpanKind, SpanStatusCode } from '@opentelemetry/api'
import type { Attributes, Link } from '@opentelemetry/api'
import { parseTraceParent } from '@opentelemetry/core'
import type { Context, MiddlewareHandler } from 'hono'
import { routeOf } from '../../shared/http/route-of.ts'
import type { Wide } from '../../shared/log.ts'
import { singleHeader } from '../../shared/http/single-header.ts'
import { runSpan } from '../../shared/tracing/run-span.ts'
import type { SpanSender } from '../../shared/tracing/span-sender.ts'
import type { WebApp } from '../context.ts'

/**
 * Makes a server span of each accepted call of the automation API, and of what people do that
 * starts or stops a run. It is a trace of its own, linked to the trace of the run and to the span
 * that the caller names in `traceparent` (W3C Trace Context), which is thus neither trusted nor
 * lost. Its facts are those of the log; it has no text of the caller.
 */
export function traceCalls({ tracer }: Pick<SpanSender, 'tracer'>): MiddlewareHandler<WebApp> {
  return async function traceCall(c, next) {
    const startTime = new Date()
    await next()
    const wide = c.get('wide')
    if (!isTraced(c, wide)) return
    const route = routeOf(c)
    const { status } = c.res
    const span = tracer.startSpan(`${c.req.method} ${route}`, {
      kind: SpanKind.SERVER,
      startTime,
      links: linksOf(c, wide),
      attributes: {
        ...whoseOf(wide),
        'http.request.method': c.req.method,
        'http.route': route,
        'http.response.status_code': status,
        'error.type': status >= 500 ? String(status) : undefined,
        request_id: c.get('requestId'),
      },
    })
    if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
    span.end()
  }
}

/** Refused tokens are in the log and the metrics: strangers could fill the traces with them. */
function isTraced({ req }: Context<WebApp>, wide: Wide): boolean {
  const { auth, auth_refused: refused, automation_id: automation, kickoff_id: run } = wide
  const isApiCall = auth !== undefined && refused === undefined && automation !== undefined
  return isApiCall || (req.method === 'POST' && run !== undefined)
}

function linksOf(c: Context<WebApp>, wide: Wide): Link[] {
  const caller = parseTraceParent(singleHeader(c, 'traceparent') ?? '')
  const kickoffId = wide['kickoff_id']
  return [
    ...(typeof kickoffId === 'string' ? [{ context: runSpan(kickoffId) }] : []),
    ...(caller ? [{ context: { ...caller, isRemote: true } }] : []),
  ]
}

const whoseOf = ({ automation_id, organization_id }: Wide): Attributes => ({
  automation_id,
  organization_id: organization_id === undefined ? undefined : String(organization_id),
})
