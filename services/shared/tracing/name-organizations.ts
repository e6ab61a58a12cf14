import { resourceFromAttributes } from '@opentelemetry/resources'
import type { Resource } from '@opentelemetry/resources'
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base'

/** The attribute of a span, and of a resource, that says whose they are. */
const ORGANIZATION_KEY = 'organization_id'
const REMEMBERED_MAX = 1000

/**
 * Sends the spans of an organization with a resource that names it: there the collector looks for
 * whose spans the platform sends.
 */
export function nameOrganizations(exporter: SpanExporter): SpanExporter {
  const resources = new Map<string, Resource>()
  const resourceOf = ({ resource }: ReadableSpan, organization: string): Resource => {
    const known = resources.get(organization)
    if (known) return known
    const named = resource.merge(resourceFromAttributes({ [ORGANIZATION_KEY]: organization }))
    // Spans share a resource only when it is the same object.
    if (resources.size >= REMEMBERED_MAX) resources.clear()
    resources.set(organization, named)
    return named
  }
  const named = (span: ReadableSpan): ReadableSpan => {
    const organization = span.attributes[ORGANIZATION_KEY]
    if (typeof organization !== 'string') return span
    return Object.create(span, { resource: { value: resourceOf(span, organization) } })
  }
  return {
    export: (spans, done) => exporter.export(spans.map(named), done),
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  }
}
