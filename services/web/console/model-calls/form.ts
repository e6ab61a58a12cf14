import { html } from 'hono/html'
import { callChange } from '../../../platform/model-calls/call-fields.ts'
import type { CallChange } from '../../../platform/model-calls/call-fields.ts'
import { messageText, REASONING_EFFORTS } from '../../../shared/models/llm-call.ts'
import type { ChatMessage, LlmCall } from '../../../shared/models/llm-call.ts'
import { parseBody } from '../../http/parse-body.ts'
import { plural, pretty, sentence } from '../frame/format.ts'
import type { Html } from '../frame/parts.ts'
import { visibleText } from '../frame/text/visible-text.ts'

const ROWS_MAX = 18

/** The fields by which a call is changed, with what is asked so far. */
export function callFields(asked: LlmCall, changed: LlmCall, models: readonly string[]): Html {
  const tools = asked.tools ?? []
  const added = changed.messages.slice(asked.messages.length).map(({ content }) => content)
  return html`<div class="two">
      <label
        >Model
        <input name="model" value="${changed.model}" list="models" required maxlength="300" />
        <span class="field-hint">One that has an LLM connection.</span>
      </label>
      <datalist id="models">
        ${models.map((each) => html`<option value="${each}"></option>`)}
      </datalist>
      <label
        >Temperature
        <input
          name="temperature"
          type="number"
          min="0"
          max="2"
          step="any"
          value="${changed.temperature ?? ''}"
        />
        <span class="field-hint">Empty: the model’s own.</span>
      </label>
      <label
        >Most tokens of the answer
        <input
          name="max_tokens"
          type="number"
          min="1"
          step="1"
          value="${changed.max_tokens ?? ''}"
        />
      </label>
      <label
        >Reasoning effort
        <select name="reasoning_effort">
          <option value="">the model’s own</option>
          ${REASONING_EFFORTS.map(
            (each) =>
              html`<option ${each === changed.reasoning_effort ? 'selected' : ''}>${each}</option>`,
          )}
        </select>
      </label>
    </div>
    ${asked.messages.map((each, at) => messageField(each, changed.messages[at] ?? each, at))}
    <label
      >One more message of the user
      <textarea name="content.new" rows="2">${area(added.map(messageText).join('\n'))}</textarea>
    </label>
    ${tools.length === 0 ? '' : toolFields(tools, changed.tools !== undefined)}`
}

function messageField(message: ChatMessage, now: ChatMessage, at: number): Html {
  const text = messageText(now.content)
  const rows = Math.min(
    ROWS_MAX,
    Math.max(2, Math.ceil(text.length / 90) + text.split('\n').length),
  )
  const calls = message.tool_calls ?? []
  return html`<label
      >${at + 1}. ${visibleText(sentence(message.role))}
      <textarea name="content.${at}" rows="${rows}">${area(text)}</textarea>
    </label>
    ${
      calls.length === 0
        ? ''
        : html`<details class="more under">
            <summary>Asked for ${plural(calls.length, 'tool call')}</summary>
            ${jsonText(
              'Tool calls',
              calls.map((each) => each.function),
            )}
          </details>`
    }`
}

/** Browsers leave out the first line break. */
const area = (text: string): string => `\n${text}`

const toolFields = (tools: NonNullable<LlmCall['tools']>, areOffered: boolean): Html =>
  html`<div>
    <label class="tick">
      <input type="checkbox" name="tools" value="yes" ${areOffered ? 'checked' : ''} />
      Offer the tools
    </label>
    <details class="more">
      <summary>
        ${plural(tools.length, 'tool')}:
        ${visibleText(
          tools
            .map((each) => each.function.name)
            .join(', ')
            .slice(0, 300),
        )}
      </summary>
      ${jsonText('Tools', tools)}
    </details>
  </div>`

const jsonText = (label: string, value: unknown): Html =>
  html`<pre class="code" tabindex="0" aria-label="${label}"><code>${visibleText(
    pretty(value),
  )}</code></pre>`

/** Reads what a form changes of a call. Raises `unprocessable`. */
export function readChange(form: URLSearchParams, asked: LlmCall): CallChange {
  const number = (name: string): number | null => {
    const text = form.get(name)?.trim() ?? ''
    return text === '' ? null : Number(text)
  }
  const fields = parseBody(callChange, {
    model: form.get('model')?.trim() || asked.model,
    temperature: number('temperature'),
    max_tokens: number('max_tokens'),
    reasoning_effort: form.get('reasoning_effort') || null,
    ...(form.has('tools') ? {} : { tools: [] }),
  })
  const added = unixLines(form.get('content.new') ?? '')
  const messages = asked.messages.map((message, at) =>
    withText(message, form.get(`content.${at}`) ?? undefined),
  )
  return {
    ...fields,
    messages: added === '' ? messages : [...messages, { role: 'user', content: added }],
  }
}

/** What a provider sealed stands for the text as it was. */
function withText(message: ChatMessage, given: string | undefined): ChatMessage {
  const was = unixLines(messageText(message.content))
  if (given === undefined || unixLines(given) === was) return message
  const { items: _items, ...rest } = message
  return { ...rest, content: unixLines(given) }
}

/** Forms send their own line breaks. */
const unixLines = (text: string): string => text.replaceAll('\r\n', '\n')
