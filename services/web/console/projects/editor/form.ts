import { html } from 'hono/html'
import {
  DECIDE_WITHIN_MINUTES,
  UNDECIDED,
} from '../../../../platform/approvals/approval-decisions.ts'
import { REASONING_EFFORTS } from '../../../../shared/models/llm-call.ts'
import { PROCESSES } from '../../../../platform/definitions/crew-process.ts'
import { RETRIED_FAILURES } from '../../../../platform/definitions/task-control.ts'
import { INPUT_TYPES } from '../../../../platform/definitions/input-declarations.ts'
import { isObject } from '../../../../shared/is-object.ts'
import type { Html } from '../../frame/parts.ts'
import { AS_USUAL, entriesOf, SHOWN, textOf } from './document.ts'
import { act, area, card, line, more, select, tick, ticks } from './fields.ts'
import { marksOf } from './marks.ts'
import type { Marks } from './marks.ts'
import type { Choices } from './offers.ts'
import { toolForm, toolTicks } from './tool-form.ts'
import type { Draft } from './values.ts'

/** The fields of a definition: the crew, its tools, agents, tasks and inputs. */
export function editorForm(
  draft: Draft,
  { problems, choices }: { readonly problems: readonly string[]; readonly choices: Choices },
): Html {
  const marks = marksOf(draft, problems)
  const llm = isObject(draft['llm']) ? draft['llm'] : {}
  return html`<div class="stack">
      <div class="two">
        ${line(marks, 'name', { label: 'Name', value: textOf(draft, 'name') })}
        ${line(marks, 'llm.model', { label: 'Model', value: textOf(llm, 'model'), isMono: true })}
      </div>
      ${more(
        'crew',
        html`<div class="two">
          ${select(marks, 'process', {
            label: 'Process',
            value: textOf(draft, 'process'),
            options: PROCESSES,
          })}
          ${line(marks, 'llm.fallbacks', {
            label: 'Models asked when it is down',
            value: Array.isArray(llm['fallbacks']) ? llm['fallbacks'].join(' ') : '',
            isMono: true,
          })}
          ${line(marks, 'llm.temperature', {
            label: 'Temperature',
            value: textOf(llm, 'temperature'),
          })}
          ${line(marks, 'llm.max_tokens', {
            label: 'Longest answer',
            value: textOf(llm, 'max_tokens'),
          })}
          ${select(marks, 'llm.reasoning_effort', {
            label: 'Reasoning',
            value: textOf(llm, 'reasoning_effort'),
            options: REASONING_EFFORTS,
          })}
        </div>`,
      )}
    </div>
    ${entries(draft, marks, { list: 'agents', one: 'agent', show: agentFields })}
    ${entries(draft, marks, { list: 'tasks', one: 'task', show: taskFields })}
    ${toolForm(draft, marks, choices)}
    ${entries(draft, marks, { list: 'inputs', one: 'input', show: inputFields })}`
}

type ListName = Parameters<typeof entriesOf>[1]

/** An entry that is shown: its place, and what is around it. */
interface Shown {
  readonly at: string
  readonly index: number
  readonly draft: Draft
  readonly marks: Marks
}

/** How the entries of a list are shown. */
interface Entries {
  readonly list: ListName
  readonly one: string
  readonly show: (entry: Draft, shown: Shown) => Html
}

const entries = (draft: Draft, marks: Marks, { list, one, show }: Entries): Html =>
  html`<fieldset class="editor-list">
    <legend>${list[0]?.toUpperCase()}${list.slice(1)}</legend>
    ${entriesOf(draft, list).map((entry, index) => {
      const title = textOf(entry, 'key') || textOf(entry, 'name') || `New ${one}`
      const at = `${list}.${index}`
      const isOpen = list === 'agents' && index === 0
      return card(
        marks,
        { at, title, about: ABOUT[list](entry), isOpen },
        html`${show(entry, { at: `${at}.`, index, draft, marks })}
          <div class="buttons">
            ${index === 0 ? '' : act(`up-${at}`, 'Move up', title)}
            ${act(`remove-${at}`, 'Remove', title)}
          </div>`,
      )
    })}
    <div>${act(`add-${list}`, `Add an ${one}`.replace('an task', 'a task'))}</div>
  </fieldset>`

/** What an entry is about, in a line. */
const ABOUT: Readonly<Record<ListName, (entry: Draft) => string>> = {
  agents: (agent) => textOf(agent, 'role'),
  tasks: (task) =>
    [textOf(task, 'agent'), textOf(task, 'description')].filter((each) => each !== '').join(': '),
  inputs: (input) => textOf(input, 'type'),
}

const inputFields = (entry: Draft, { at, marks }: Shown): Html =>
  html`<div class="two">
      ${line(marks, `${at}name`, { label: 'Name', value: textOf(entry, 'name'), isMono: true })}
      ${select(marks, `${at}type`, {
        label: 'Type',
        value: textOf(entry, 'type'),
        options: INPUT_TYPES,
      })}
      ${line(marks, `${at}label`, { label: 'Label', value: textOf(entry, 'label') })}
      ${line(marks, `${at}default`, {
        label: 'Default, as JSON',
        value: entry['default'] === undefined ? '' : JSON.stringify(entry['default']),
        isMono: true,
      })}
    </div>
    ${line(marks, `${at}description`, {
      label: 'Description',
      value: textOf(entry, 'description'),
    })}
    ${tick(`${at}required`, 'Required', entry['required'] !== false)}`

function agentFields(entry: Draft, { at, draft, marks }: Shown): Html {
  const tools = toolTicks(draft, entry)
  const texts = knowledgeTicks(draft, entry)
  return html`${line(marks, `${at}role`, { label: 'Role', value: textOf(entry, 'role') })}
  ${area(marks, `${at}goal`, { label: 'Goal', value: textOf(entry, 'goal') })}
  ${
    tools.length === 0
      ? html`<p class="hint">It has no tools: add one under <i>Tools</i>, and tick it here.</p>`
      : ticks(marks, `${at}tools`, { label: 'Tools', all: tools })
  }
  ${texts.length === 0 ? '' : ticks(marks, `${at}knowledge`, { label: 'Knowledge', all: texts })}
  ${more(
    at.slice(0, -1),
    html`${area(marks, `${at}backstory`, { label: 'Backstory', value: textOf(entry, 'backstory') })}
    ${keyField(entry, at, marks)}
    ${tick(`${at}allow_delegation`, 'May delegate', entry['allow_delegation'] === true)}`,
  )}`
}

function knowledgeTicks(draft: Draft, agent: Draft) {
  const used = Array.isArray(agent['knowledge']) ? agent['knowledge'].map(String) : []
  const known = isObject(draft['knowledge']) ? Object.keys(draft['knowledge']) : []
  return [...new Set([...used, ...known])].map((key) => ({
    value: key,
    text: known.includes(key) ? key : `${key} (unknown)`,
    isOn: used.includes(key),
  }))
}

const keyField = (entry: Draft, at: string, marks: Marks): Html =>
  line(marks, `${at}key`, {
    label: 'Key, by which others name it',
    value: textOf(entry, 'key'),
    isMono: true,
    placeholder: 'its first words',
  })

function taskFields(entry: Draft, shown: Shown): Html {
  const { at, draft, marks } = shown
  const agent = textOf(entry, 'agent')
  const agents = entriesOf(draft, 'agents').map((each) => textOf(each, 'key'))
  const picks = [...new Set([...agents, agent])].filter((key) => key !== '')
  return html`${area(marks, `${at}description`, {
      label: 'Description',
      value: textOf(entry, 'description'),
    })}
    ${area(marks, `${at}expected_output`, {
      label: 'Expected output',
      value: textOf(entry, 'expected_output'),
    })}
    ${ticks(marks, `${at}agent`, {
      label: 'Agent',
      all: picks.map((key) => ({ value: key, text: key, isOn: key === agent })),
      type: 'radio',
    })}
    ${contextTicks(entry, shown)}
    <div class="ticks">
      ${tick(`${at}human_input`, 'A person approves it', entry['human_input'] === true)}
      ${tick(`${at}async`, 'Tasks after it do not wait', entry['async'] === true)}
      ${tick(`${at}markdown`, 'Markdown', entry['markdown'] === true)}
    </div>
    ${more(
      at.slice(0, -1),
      html`<div class="two">
          ${keyField(entry, at, marks)}
          ${line(marks, `${at}output_file`, {
            label: 'Output file',
            value: textOf(entry, 'output_file'),
            isMono: true,
          })}
          ${line(marks, `${at}decide_within_minutes`, {
            label: 'Minutes for the approval',
            value: textOf(entry, 'decide_within_minutes'),
            placeholder: String(DECIDE_WITHIN_MINUTES),
          })}
          ${select(marks, `${at}undecided`, {
            label: 'Without a decision',
            value: textOf(entry, 'undecided'),
            options: UNDECIDED,
          })}
        </div>
        ${controlFields(entry, at, marks)}`,
    )}`
}

/** Whether a task is done, how often and for how long. */
function controlFields(entry: Draft, at: string, marks: Marks): Html {
  const retry = isObject(entry['retry']) ? entry['retry'] : {}
  const on = Array.isArray(retry['on']) ? retry['on'].map(String) : []
  const field = (name: string, label: string, placeholder: string): Html => {
    const [group, ofGroup] = name.split('.')
    const value = ofGroup === undefined ? textOf(entry, name) : textOf(retry, ofGroup)
    const isMono = group === 'when' || group === 'for_each'
    return line(marks, `${at}${name}`, { label, value, isMono, placeholder })
  }
  return html`${field('when', 'Only if', '@.outputs.rate.json.score >= 0.5')}
    <div class="two">
      ${field('for_each', 'For each item of', '$.inputs.cities')}
      ${field('parallel', 'Items at a time', '4')}
      ${field('timeout_seconds', 'Seconds that it may take', 'no limit')}
      ${field('retry.times', 'Times to retry', '0')}
      ${field('retry.wait_seconds', 'Seconds before a retry', '1')}
    </div>
    ${ticks(marks, `${at}retry.on`, {
      label: 'Retry after these failures only',
      all: [...new Set([...on, ...RETRIED_FAILURES])].map((code) => ({
        value: code,
        text: code,
        isOn: on.includes(code),
      })),
    })}`
}

/** The tasks before it whose outputs it gets. */
function contextTicks(entry: Draft, { at, index, draft, marks }: Shown): Html | string {
  const { context } = entry
  const used = Array.isArray(context) ? context.map(String) : []
  const before = entriesOf(draft, 'tasks')
    .slice(0, index)
    .map((each) => textOf(each, 'key'))
  // Those that it gets come first, in the order in which it gets them.
  const tasks = [...new Set([...used, ...before])].filter((key) => key !== '')
  if (tasks.length === 0 && context === undefined) return ''
  const usual = entry['async'] === true ? 'none, as it does not wait' : 'all before it'
  return html`<input type="hidden" name="${at}context" value="${SHOWN}" /> ${ticks(
      marks,
      `${at}context`,
      {
        label: 'Gets the outputs of',
        all: [
          { value: AS_USUAL, text: usual, isOn: context === undefined },
          ...tasks.map((key) => ({ value: key, text: key, isOn: used.includes(key) })),
        ],
      },
    )}`
}
