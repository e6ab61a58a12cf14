import { html } from 'hono/html'
import {
  DECIDE_WITHIN_MINUTES,
  UNDECIDED,
} from '../../../platform/definitions/approval-decisions.ts'
import { REASONING_EFFORTS } from '../../../platform/definitions/crew-definition.ts'
import { PROCESSES } from '../../../platform/definitions/crew-process.ts'
import { INPUT_TYPES } from '../../../platform/definitions/input-declarations.ts'
import { isObject } from '../../../shared/is-object.ts'
import type { Html } from '../frame/parts.ts'
import { entriesOf, textOf, toolsOf } from './editor-document.ts'
import type { Draft } from './editor-document.ts'

/** The fields of a definition: the crew, its inputs, agents, tasks and tools. */
export function editorForm(draft: Draft): Html {
  const llm = isObject(draft['llm']) ? draft['llm'] : {}
  return html`<div class="stack">
      ${field('name', { label: 'Name', value: textOf(draft, 'name') })}
      <div class="two">
        ${field('llm.model', { label: 'Model', value: textOf(llm, 'model'), isMono: true })}
        ${select('process', 'Process', {
          value: textOf(draft, 'process'),
          options: ['', ...PROCESSES],
        })}
        ${field('llm.temperature', { label: 'Temperature', value: textOf(llm, 'temperature') })}
        ${field('llm.max_tokens', { label: 'Longest answer', value: textOf(llm, 'max_tokens') })}
        ${select('llm.reasoning_effort', 'Reasoning', {
          value: textOf(llm, 'reasoning_effort'),
          options: ['', ...REASONING_EFFORTS],
        })}
      </div>
    </div>
    ${entries(draft, { list: 'inputs', one: 'input', show: inputFields })}
    ${entries(draft, { list: 'agents', one: 'agent', show: agentFields })}
    ${entries(draft, { list: 'tasks', one: 'task', show: taskFields })} ${toolEntries(draft)}`
}

type ListName = Parameters<typeof entriesOf>[1]

/** How the entries of a list are shown. */
interface Entries {
  readonly list: ListName
  readonly one: string
  readonly show: (entry: Draft, at: string, draft: Draft) => Html
}

const entries = (draft: Draft, { list, one, show }: Entries): Html => {
  const all = entriesOf(draft, list)
  return html`<fieldset class="editor-list">
    <legend>${list[0]?.toUpperCase()}${list.slice(1)}</legend>
    ${all.map((entry, index) => {
      const title = textOf(entry, 'key') || textOf(entry, 'name') || `New ${one}`
      return html`<details class="editor-entry" data-fold="${list}.${index}" open>
        <summary class="mono">${title}</summary>
        <div class="stack">
          ${show(entry, `${list}.${index}.`, draft)}
          <div class="buttons">
            ${index === 0 ? '' : act(`up-${list}.${index}`, 'Move up', title)}
            ${act(`remove-${list}.${index}`, 'Remove', title)}
          </div>
        </div>
      </details>`
    })}
    <div>${act(`add-${list}`, `Add an ${one}`.replace('an task', 'a task'))}</div>
  </fieldset>`
}

const act = (action: string, text: string, of?: string): Html =>
  html`<button
    class="button small"
    name="act"
    value="${action}"
    formnovalidate
    ${of === undefined ? '' : html`aria-label="${text} ${of}"`}
  >
    ${text}
  </button>`

const inputFields = (entry: Draft, at: string): Html =>
  html`<div class="two">
      ${field(`${at}name`, { label: 'Name', value: textOf(entry, 'name'), isMono: true })}
      ${select(`${at}type`, 'Type', {
        value: textOf(entry, 'type'),
        options: ['', ...INPUT_TYPES],
      })}
      ${field(`${at}label`, { label: 'Label', value: textOf(entry, 'label') })}
      ${field(`${at}default`, {
        label: 'Default, as JSON',
        value: entry['default'] === undefined ? '' : JSON.stringify(entry['default']),
        isMono: true,
      })}
    </div>
    ${field(`${at}description`, { label: 'Description', value: textOf(entry, 'description') })}
    ${checkbox(`${at}required`, 'Required', entry['required'] !== false)}`

const agentFields = (entry: Draft, at: string): Html =>
  html`<div class="two">
      ${field(`${at}key`, { label: 'Key', value: textOf(entry, 'key'), isMono: true })}
      ${field(`${at}role`, { label: 'Role', value: textOf(entry, 'role') })}
    </div>
    ${area(`${at}goal`, 'Goal', textOf(entry, 'goal'))}
    ${area(`${at}backstory`, 'Backstory', textOf(entry, 'backstory'))}
    ${field(`${at}tools`, {
      label: 'Tools, named by key',
      value: listOf(entry, 'tools'),
      isMono: true,
    })}
    ${checkbox(`${at}allow_delegation`, 'May delegate', entry['allow_delegation'] === true)}`

const taskFields = (entry: Draft, at: string, draft: Draft): Html =>
  html`<div class="two">
      ${field(`${at}key`, { label: 'Key', value: textOf(entry, 'key'), isMono: true })}
      ${select(`${at}agent`, 'Agent', {
        value: textOf(entry, 'agent'),
        options: ['', ...entriesOf(draft, 'agents').map((each) => textOf(each, 'key'))],
      })}
    </div>
    ${area(`${at}description`, 'Description', textOf(entry, 'description'))}
    ${area(`${at}expected_output`, 'Expected output', textOf(entry, 'expected_output'))}
    <div class="two">
      ${field(`${at}context`, {
        label: 'Gets the outputs of',
        value: listOf(entry, 'context'),
        isMono: true,
        placeholder: 'all tasks before it',
      })}
      ${field(`${at}output_file`, {
        label: 'Output file',
        value: textOf(entry, 'output_file'),
        isMono: true,
      })}
      ${field(`${at}decide_within_minutes`, {
        label: 'Minutes for the approval',
        value: textOf(entry, 'decide_within_minutes'),
        placeholder: String(DECIDE_WITHIN_MINUTES),
      })}
      ${select(`${at}undecided`, 'Without a decision', {
        value: textOf(entry, 'undecided'),
        options: ['', ...UNDECIDED],
      })}
    </div>
    <div class="ticks">
      ${checkbox(`${at}human_input`, 'A person approves it', entry['human_input'] === true)}
      ${checkbox(`${at}async`, 'Tasks after it do not wait', entry['async'] === true)}
      ${checkbox(`${at}markdown`, 'Markdown', entry['markdown'] === true)}
    </div>`

const toolEntries = (draft: Draft): Html =>
  html`<fieldset class="editor-list">
    <legend>Tools</legend>
    ${Object.entries(toolsOf(draft)).map(
      ([key, tool], index) =>
        html`<details class="editor-entry" data-fold="tools.${index}" open>
          <summary class="mono">${key || 'New tool'}</summary>
          <div class="stack">
            ${field(`tools.${index}.key`, { label: 'Key', value: key, isMono: true })}
            <label
              >Tool, as JSON
              <textarea name="tools.${index}.value" rows="6" class="mono" spellcheck="false">
${JSON.stringify(tool, null, 2)}</textarea>
            </label>
            <div class="buttons">${act(`remove-tools.${index}`, 'Remove', key || 'New tool')}</div>
          </div>
        </details>`,
    )}
    <div>${act('add-tools', 'Add a tool')}</div>
  </fieldset>`

const listOf = (entry: Draft, name: string): string => {
  const value = entry[name]
  return Array.isArray(value) ? value.join(', ') : ''
}

interface Field {
  readonly label: string
  readonly value: string
  readonly isMono?: boolean
  readonly placeholder?: string
}

const field = (name: string, { label, value, isMono = false, placeholder = '' }: Field): Html =>
  html`<label
    >${label}
    <input
      name="${name}"
      value="${value}"
      class="${isMono ? 'mono' : ''}"
      placeholder="${placeholder}"
      autocomplete="off"
    />
  </label>`

const area = (name: string, label: string, value: string): Html =>
  html`<label
    >${label}
    <textarea name="${name}" rows="2">${value}</textarea>
  </label>`

const checkbox = (name: string, label: string, isOn: boolean): Html =>
  html`<label class="tick">
    <input type="checkbox" name="${name}" ${isOn ? html`checked` : ''} />
    ${label}
  </label>`

/** A value that is not among the options is one all the same, until it is changed. */
function select(
  name: string,
  label: string,
  { value, options }: { readonly value: string; readonly options: readonly string[] },
): Html {
  const all = [...new Set([...options, value])]
  return html`<label
    >${label}
    <select name="${name}">
      ${all.map(
        (each) =>
          html`<option value="${each}" ${each === value ? html`selected` : ''}>
            ${each === '' ? 'Not set' : each}
          </option>`,
      )}
    </select>
  </label>`
}
