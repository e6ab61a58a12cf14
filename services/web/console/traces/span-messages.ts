import { html } from 'hono/html'
import type { Message, Part, SpanView } from '../../../shared/trace-answers/one-trace.ts'
import { count, plural, pretty, sentence } from '../frame/format.ts'
import type { Html } from '../frame/parts.ts'
import { foreignText } from '../frame/text/foreign-text.ts'
import type { ShownAs } from '../frame/text/foreign-text.ts'
import { visibleText } from '../frame/text/visible-text.ts'

/** Of a longer conversation the last messages are open and the ones before are folded. */
const OPEN_MAX = 12
/** Messages that a page shows; the download has all. */
const SHOWN_MAX = 200
/** Characters of the name of a tool, or of the id of a call. */
const NAME_MAX = 300

/** How the messages of a call are shown. */
interface ConversationView {
  /** The address of the span as JSON: there its messages are whole, and are copied from. */
  readonly downloadPath: string
  readonly as: ShownAs
  /** The address of the same span, shown the other way. */
  readonly pathAs: (as: ShownAs) => string
}

/** The conversation of a call: what was given and what came back, whichever library wrote it. */
export function conversation({ messages }: SpanView, view: ConversationView): Html | string {
  const { input, output } = messages
  const { downloadPath, as } = view
  if (input.length === 0 && output.length === 0) return ''
  return html`<section
    class="span-part"
    aria-labelledby="conversation"
    data-messages-from="${downloadPath}"
  >
    <div class="card-head">
      <h3 id="conversation">Conversation</h3>
      ${formats(view)}
    </div>
    ${input.length > 0 ? list('input', input, as) : ''}
    ${output.length > 0 ? list('output', output, as) : ''}
  </section>`
}

const FORMATS = [
  ['document', 'Rendered'],
  ['text', 'As written'],
] as const

const formats = ({ as, pathAs }: ConversationView): Html =>
  html`<nav class="switch push" aria-label="Messages are shown">
    ${FORMATS.map(
      ([format, name]) =>
        html`<a
          href="${pathAs(format)}"
          data-as="${format}"
          ${format === as ? html`aria-current="true"` : ''}
          >${name}</a
        >`,
    )}
  </nav>`

/** The messages that came back. */
export const outputMessages = ({ messages }: SpanView): Html =>
  list('output', messages.output, 'document')

function list(side: keyof SpanView['messages'], messages: readonly Message[], as: ShownAs): Html {
  const before = Math.max(0, messages.length - SHOWN_MAX)
  const message = (given: Message, place: number): Html =>
    oneMessage(given, { place: `${side} ${place}`, as })
  const shown = messages.slice(before)
  const folded = shown.slice(0, Math.max(0, shown.length - OPEN_MAX))
  return html`<div class="messages">
    <h4>${sentence(side)}</h4>
    ${
      messages.length > shown.length
        ? html`<p class="hint">The last ${count(SHOWN_MAX)} of ${count(messages.length)}.</p>`
        : ''
    }
    ${
      folded.length > 0
        ? html`<details class="more">
            <summary>${plural(folded.length, 'earlier message')}</summary>
            ${folded.map((each, index) => message(each, before + index))}
          </details>`
        : ''
    }
    ${shown
      .slice(folded.length)
      .map((each, index) => message(each, before + folded.length + index))}
  </div>`
}

const ROLES = new Set(['system', 'user', 'assistant', 'tool'])

interface Shown {
  /** Of its side, from 0. */
  readonly place: string
  readonly as: ShownAs
}

/** A fold, so that long prompts get out of the way of what follows them. */
const oneMessage = ({ role, content }: Message, { place, as }: Shown): Html =>
  html`<article class="message ${ROLES.has(role) ? role : 'other'}" data-message="${place}">
    <details open>
      <summary>${visibleText(sentence(role.slice(0, 60))) || 'Message'}</summary>
      ${content.map((each) => part(each, role, as))}
    </details>
  </article>`

function part(given: Part, role: string, as: ShownAs): Html {
  switch (given.type) {
    case 'text':
      return foreignText(given.text, `Message of ${visibleText(role.slice(0, 60))}`, as)
    case 'reasoning':
      return html`<details class="more">
        <summary>Reasoning</summary>
        ${foreignText(given.text, 'Reasoning', as)}
      </details>`
    case 'tool_call':
      return call(
        `Calls ${visibleText(given.name.slice(0, NAME_MAX))}`,
        foreignText(pretty(given.arguments), 'Arguments', as),
        given.id,
      )
    case 'tool_result':
      return call('Result', foreignText(given.content, 'Result', as), given.id)
    case 'image':
      return html`<p class="hint">${visibleText(imageText(given.url, given.mime_type))}</p>`
  }
}

const call = (title: string, text: Html, id: string | undefined): Html =>
  html`<div class="call">
    <p class="call-head">
      <strong>${title}</strong
      >${id === undefined ? '' : html` <code>${visibleText(id.slice(0, NAME_MAX))}</code>`}
    </p>
    ${text}
  </div>`

/** Images are not loaded: their host would learn who reads the page. */
function imageText(url: string, type: string | undefined): string {
  const kind = type ?? /^data:([\w/+.-]+)/.exec(url)?.[1] ?? 'image'
  const place = url.startsWith('data:')
    ? `${count(Math.round((url.length * 3) / 4))} bytes, in the download`
    : url.slice(0, 300)
  return `Image (${kind}): ${place}`
}
