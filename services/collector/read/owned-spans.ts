import type { Reader } from './reader.ts'
import { toIdentityJson, toSpanJson } from './span-json.ts'
import type { IdentityRow } from './span-json.ts'
import { listResources, listScopes, listSpansAt } from './span-rows.ts'
import type { PlacedSpan, SpanPlace } from './span-rows.ts'

/** Spans, and the resources and scopes that they belong to, by their ids. */
export interface OwnedSpans {
  readonly spans: readonly PlacedSpan[]
  readonly resources: ReadonlyMap<string, IdentityRow>
  readonly scopes: ReadonlyMap<string, IdentityRow>
}

/** Reads the spans at these places, in their order. */
export async function readOwnedSpans(
  reader: Pick<Reader, 'ask'>,
  places: readonly SpanPlace[],
): Promise<OwnedSpans> {
  const resourceIds = [...new Set(places.map(({ resourceId }) => resourceId))]
  const scopeIds = [...new Set(places.map(({ scopeId }) => scopeId))]
  const [spans, resources, scopes] = await reader.ask((sql) =>
    Promise.all([
      listSpansAt(sql, places),
      listResources(sql, resourceIds),
      listScopes(sql, scopeIds),
    ]),
  )
  return { spans, resources: byId(resources), scopes: byId(scopes) }
}

const byId = (rows: readonly IdentityRow[]): Map<string, IdentityRow> =>
  new Map(rows.map((row) => [row.id, row]))

/** Spans of one resource and scope together, each group in the order in which it began. */
export function sortByOwner<Owned extends Pick<SpanPlace, 'resourceId' | 'scopeId'>>(
  places: readonly Owned[],
): Owned[] {
  const groups = new Map<string, Map<string, Owned[]>>()
  for (const place of places) {
    const scopes = groups.get(place.resourceId) ?? new Map<string, Owned[]>()
    const spans = scopes.get(place.scopeId) ?? []
    spans.push(place)
    groups.set(place.resourceId, scopes.set(place.scopeId, spans))
  }
  return [...groups.values()].flatMap((scopes) => [...scopes.values()].flat())
}

/** Writes the elements of the list `resourceSpans` of OTLP JSON, as the spans come. */
interface SpanWriter {
  /** Spans of one resource and scope come together. */
  write(owned: OwnedSpans): string
  end(): string
}

/** A list without elements until something is written. */
export function createSpanWriter(): SpanWriter {
  let last: PlacedSpan | undefined
  return {
    write(owned) {
      let text = ''
      for (const span of owned.spans) {
        text += separator(last, span, owned) + JSON.stringify(toSpanJson(span))
        last = span
      }
      return text
    },
    end: () => (last ? ']}]}' : ''),
  }
}

/**
 * What stands between two spans: a comma, or the end of one group and the beginning of the next.
 */
function separator(last: PlacedSpan | undefined, span: PlacedSpan, owners: OwnedSpans): string {
  const isSameResource = last?.resourceId === span.resourceId
  if (isSameResource && last.scopeId === span.scopeId) return ','
  const scope = owners.scopes.get(span.scopeId)
  const scopeStart = `{"scope":${JSON.stringify(toIdentityJson(scope))}${schema(scope)},"spans":[`
  if (isSameResource) return `]},${scopeStart}`
  const resource = owners.resources.get(span.resourceId)
  const resourceJson = JSON.stringify(toIdentityJson(resource))
  const end = last ? ']}]},' : ''
  return `${end}{"resource":${resourceJson}${schema(resource)},"scopeSpans":[${scopeStart}`
}

const schema = (owner: IdentityRow | undefined): string =>
  owner?.schemaUrl ? `,"schemaUrl":${JSON.stringify(owner.schemaUrl)}` : ''
