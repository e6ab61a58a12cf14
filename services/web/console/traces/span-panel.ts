import { html } from 'hono/html'
import type { KeyValue, SpanView } from '../../../shared/trace-answers/one-trace.ts'
import { absoluteTime, count, sentence } from '../frame/format.ts'
import { icon } from '../frame/icons.ts'
import { queryOf } from '../frame/lists/pager.ts'
import type { Html } from '../frame/parts.ts'
import { factList, pill } from '../frame/parts.ts'
import { dollars, nsText } from '../frame/amounts.ts'
import { kindIcon, kindName, kindOf } from '../frame/kinds.ts'
import { ODDITY_TEXTS } from './oddities.ts'
import { isSpanCall } from '../../model-calls/span-call.ts'
import { conversation } from './span-messages.ts'
import { foreignText, foreignValue } from '../frame/text/foreign-text.ts'
import type { ShownAs } from '../frame/text/foreign-text.ts'
import { visibleText } from '../frame/text/visible-text.ts'
import type { Oddity } from './trace-tree.ts'
import { isObject } from '../../../shared/is-object.ts'

/** A span, and what the tree says of it. */
interface SpanPanel {
  readonly view: SpanView
  /** The address of its trace. */
  readonly tracePath: string
  readonly oddities: readonly Oddity[]
  /** How its messages are shown, and the address that shows them the other way. */
  readonly as: ShownAs
  readonly pathAs: (as: ShownAs) => string
}

const ERROR = 2
/** Attributes that a page shows; the download has all. */
const ATTRIBUTES_MAX = 200
const EVENTS_MAX = 100

/** A span: what it is, what was said, what it cost, and everything that its sender wrote. */
export function spanPanel(panel: SpanPanel): Html {
  const { view, oddities, as, pathAs } = panel
  const downloadPath = rawPathOf(panel)
  const { span, truncated } = view
  return html`<div class="span-panel" data-span="${span.spanId}">
    ${head(panel)}
    ${oddities.map((each) => html`<p class="notice waiting">${ODDITY_TEXTS[each]}</p>`)}
    ${
      truncated
        ? html`<p class="notice waiting">
            This span is larger than a page can show: its large values and its events are left out.
          </p>`
        : ''
    }
    ${problem(view)} ${facts(view)} ${conversation(view, { downloadPath, as, pathAs })}
    ${attributeTable('Attributes', span.attributes, span.droppedAttributesCount)} ${events(view)}
    ${links(view)} ${attributeTable('Resource', view.resource.attributes)} ${scope(view)}
  </div>`
}

/** The span and its messages as JSON. */
const rawPathOf = ({ view, tracePath }: SpanPanel): string =>
  `${tracePath}/spans/${view.span.spanId}/raw`

function head(panel: SpanPanel): Html {
  const { span, columns } = panel.view
  const kind = kindOf(textOf(columns['operation_kind']))
  const raw = rawPathOf(panel)
  return html`<div class="card-head span-head">
    <div>
      <h2 id="span-title">${kindIcon(kind)} ${visibleText(span.name) || '(no name)'}</h2>
      <p class="hint">${kindName(kind)} · <code class="select">${span.spanId}</code></p>
    </div>
    <div class="output-actions" data-copy-from="${raw}">
      ${
        isSpanCall(panel.view)
          ? html`<a class="button small" href="${raw.replace(/raw$/, 'try')}">Try again</a>`
          : ''
      }
      ${(span.status.code ?? 0) === ERROR ? pill('bad', 'Error') : ''}
      <a class="button small" href="${raw}">${icon('download')}<span>JSON</span></a>
    </div>
  </div>`
}

function problem({ span, columns }: SpanView): Html | string {
  if (span.status.code !== ERROR) return ''
  const type = textOf(columns['error_type'])
  return html`<section class="span-part failed" aria-labelledby="span-error">
    <h3 id="span-error">Error ${type === null ? '' : html`<code>${type}</code>`}</h3>
    ${span.status.message ? foreignText(span.status.message, 'Error') : ''}
  </section>`
}

const FACTS: readonly (readonly [name: string, column: string])[] = [
  ['Operation', 'operation'],
  ['Provider', 'provider'],
  ['Model asked', 'request_model'],
  ['Model', 'response_model'],
  ['Agent', 'agent'],
  ['Task', 'task'],
  ['Tool', 'tool'],
  ['Workflow', 'workflow'],
  ['Session', 'session_id'],
  ['User', 'user_id'],
]

/** The fields of the list of traces by which a value is found again. */
const LISTED: Readonly<Record<string, string>> = { session_id: 'session', user_id: 'user' }

/** A link to all traces with the value of a column, for values that tell traces apart. */
function listLink(column: string, columns: SpanView['columns']): Html | undefined {
  const [field, value] = [LISTED[column], columns[column]]
  if (field === undefined || typeof value !== 'string') return undefined
  const path = `/traces${queryOf({ [field]: value, window: 'all' })}`
  return html`<a href="${path}">${visibleText(value)}</a>`
}

const TOKENS: readonly (readonly [name: string, column: string])[] = [
  ['Input tokens', 'input_tokens'],
  ['of these cached', 'cache_read_tokens'],
  ['written to the cache', 'cache_write_tokens'],
  ['of these audio', 'audio_input_tokens'],
  ['Output tokens', 'output_tokens'],
  ['of these reasoning', 'reasoning_tokens'],
  ['of these audio', 'audio_output_tokens'],
]

function costs(columns: SpanView['columns']): (readonly [string, Html | string])[] {
  const [reported, computed] = [columns['cost_usd'], columns['computed_cost_usd']]
  const model = columns['response_model'] ?? columns['request_model']
  const known = [
    ['Cost, by its sender', reported] as const,
    ['Cost, by list prices', computed] as const,
  ].flatMap(([name, cost]) => (typeof cost === 'number' ? [[name, dollars(cost)] as const] : []))
  const isUnknown = known.length === 0 && typeof columns['input_tokens'] === 'number'
  return isUnknown && typeof model === 'string'
    ? [['Cost', html`unknown: ${visibleText(model)} has no price. <a href="/prices">Enter one</a>`]]
    : known
}

function facts({ span, columns }: SpanView): Html {
  const startNs = BigInt(span.startTimeUnixNano)
  const start = new Date(Number(startNs / 1_000_000n))
  const took =
    span.endTimeUnixNano === undefined
      ? 'Still running'
      : nsText(Math.max(0, Number(BigInt(span.endTimeUnixNano) - startNs)))
  const rows: (readonly [string, Html | string])[] = [
    ['Start', absoluteTime(start)],
    ['Duration', took],
    ...FACTS.flatMap(([name, column]) => {
      const text = textOf(columns[column])
      return text === null ? [] : [[name, listLink(column, columns) ?? text] as const]
    }),
    ...TOKENS.flatMap(([name, column]) => {
      const number = columns[column]
      return typeof number === 'number' ? [[name, count(number)] as const] : []
    }),
    ...costs(columns),
  ]
  return factList('pairs span-part', rows)
}

function attributeTable(title: string, given: readonly KeyValue[], dropped = 0): Html | string {
  if (given.length === 0 && dropped === 0) return ''
  return html`<details class="more span-part" ${title === 'Attributes' ? 'open' : ''}>
    <summary>${title} <span class="quiet">${count(given.length)}</span></summary>
    ${dropped > 0 ? html`<p class="hint">${count(dropped)} more were not sent or kept.</p>` : ''}
    ${attributeList(given)}
  </details>`
}

function attributeList(given: readonly KeyValue[]): Html {
  const shown = given.slice(0, ATTRIBUTES_MAX)
  return html`<dl class="attributes">
      ${shown.map(
        ({ key, value }) =>
          html`<div>
            <dt>${visibleText(key)}</dt>
            <dd>${foreignValue(otlpText(value), visibleText(key))}</dd>
          </div>`,
      )}
    </dl>
    ${given.length > shown.length ? html`<p class="hint">The download has all.</p>` : ''}`
}

function events({ span }: SpanView): Html | string {
  if (span.events.length === 0) return ''
  const start = BigInt(span.startTimeUnixNano)
  return html`<details class="more span-part">
    <summary>Events <span class="quiet">${count(span.events.length)}</span></summary>
    ${span.events.slice(0, EVENTS_MAX).map(
      ({ name, timeUnixNano, attributes }) =>
        html`<div class="event">
          <p>
            <strong>${visibleText(sentence(name)) || 'Event'}</strong>
            ${
              timeUnixNano === undefined
                ? ''
                : html`<span class="quiet">+${nsText(Number(BigInt(timeUnixNano) - start))}</span>`
            }
          </p>
          ${attributeList(attributes)}
        </div>`,
    )}
  </details>`
}

function links({ span }: SpanView): Html | string {
  if (span.links.length === 0) return ''
  return html`<details class="more span-part" open>
    <summary>Links <span class="quiet">${count(span.links.length)}</span></summary>
    <ul>
      ${span.links.slice(0, EVENTS_MAX).map(
        ({ traceId, spanId }) =>
          html`<li>
            <a class="mono" href="/traces/${traceId}?span=${spanId}">${traceId} / ${spanId}</a>
          </li>`,
      )}
    </ul>
  </details>`
}

function scope({ scope: { name, version, attributes } }: SpanView): Html | string {
  const own = [
    ...(name ? [{ key: 'name', value: { stringValue: name } }] : []),
    ...(version ? [{ key: 'version', value: { stringValue: version } }] : []),
  ]
  return attributeTable('Instrumentation', [...own, ...attributes])
}

const textOf = (value: unknown): string | null =>
  typeof value === 'string' ? visibleText(value) : null

/** Values within values beyond this are shown as `…`. */
const DEPTH_MAX = 20

/** Returns a value of OTLP's JSON encoding as a text: a string as it is, anything else as JSON. */
function otlpText(value: unknown): string {
  const plain = plainOf(value, 0)
  return typeof plain === 'string' ? plain : (JSON.stringify(plain) ?? '')
}

function plainOf(value: unknown, depth: number): unknown {
  if (!isObject(value)) return null
  if (depth > DEPTH_MAX) return '…'
  const { stringValue, boolValue, intValue, doubleValue, bytesValue, arrayValue, kvlistValue } =
    value
  if (isObject(arrayValue)) return listOf(arrayValue).map((each) => plainOf(each, depth + 1))
  if (isObject(kvlistValue)) {
    return Object.fromEntries(
      listOf(kvlistValue).flatMap((each) =>
        isObject(each) ? [[String(each['key']), plainOf(each['value'], depth + 1)]] : [],
      ),
    )
  }
  // A count may have more digits than a number can hold: it stays the text that it is.
  return stringValue ?? boolValue ?? intValue ?? doubleValue ?? bytesValue ?? null
}

const listOf = ({ values }: Readonly<Record<string, unknown>>): readonly unknown[] =>
  Array.isArray(values) ? values : []
