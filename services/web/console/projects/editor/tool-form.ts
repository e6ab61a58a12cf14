import { html } from 'hono/html'
import {
  DECIDE_WITHIN_MINUTES,
  UNDECIDED,
} from '../../../../platform/approvals/approval-decisions.ts'
import { APPROVE_MODES } from '../../../../platform/approvals/call-approval.ts'
import type { Offer } from '../../../intake/tool-pins/pin-tools.ts'
import { isObject } from '../../../../shared/is-object.ts'
import { count } from '../../frame/format.ts'
import type { Html } from '../../frame/parts.ts'
import { act, area, card, line, more, select, ticks } from './fields.ts'
import type { Tick } from './fields.ts'
import type { Marks } from './marks.ts'
import { textOf } from './document.ts'
import { toSeen } from './offers.ts'
import type { Choices } from './offers.ts'
import { isRemote, kindOf, NAMES_IN, textsOf, TOOL_KINDS, toolsOf, WHEN, whenOf } from './tools.ts'
import type { ToolKind } from './tools.ts'
import type { Draft } from './values.ts'

/** As many offers of a tool as are listed; the others are named by hand. */
const OFFERS_SHOWN = 300
const DESCRIPTION_SHOWN = 200

/** What an agent can do, in the fields of each tool. */
export function toolForm(draft: Draft, marks: Marks, choices: Choices): Html {
  const tools = Object.entries(toolsOf(draft))
  return html`<fieldset class="editor-list">
    <legend>Tools</legend>
    ${tools.map(([key, tool], index) => {
      const [at, kind] = [`tools.${index}`, kindOf(tool)]
      const about = kind === 'json' ? 'JSON' : `${TOOL_KINDS[kind].text}${whereOf(tool)}`
      return card(
        marks,
        { at, title: key || 'New tool', about, isOpen: false },
        html`${line(marks, `${at}.key`, { label: 'Key', value: key, isMono: true })}
          ${toolFields(tool, { at, kind, key, marks, choices })}
          <div class="buttons">${act(`remove-${at}`, 'Remove', key || 'New tool')}</div>`,
      )
    })}
    <div class="buttons" role="group" aria-label="Add a tool">
      ${Object.entries(TOOL_KINDS).map(([kind, { text }]) =>
        act(`add-tools.${kind}`, `Add: ${text}`),
      )}
    </div>
  </fieldset>`
}

/** The place of a tool that has one. */
function whereOf(tool: unknown): string {
  const address = isObject(tool) ? textOf(tool, 'url') || textOf(tool, 'openapi_url') : ''
  return URL.canParse(address) ? ` at ${new URL(address).host}` : ''
}

interface ToolView {
  readonly at: string
  readonly kind: ToolKind
  readonly key: string
  readonly marks: Marks
  readonly choices: Choices
}

function toolFields(tool: unknown, view: ToolView): Html | string {
  const { at, kind, marks } = view
  if (!isObject(tool) || kind === 'json') {
    const value = JSON.stringify(tool, null, 2)
    return area(marks, `${at}.value`, { label: 'Tool, as JSON', value, isMono: true, rows: 6 })
  }
  if (kind === 'fetch') return fetchFields(tool, view)
  if (kind === 'automation') return automationFields(tool, view)
  return isRemote(kind) ? remoteFields(tool, { ...view, kind }) : more(at, asking(tool, view))
}

/** When a person decides about a call before it is made. */
function asking(tool: Draft, { at, marks }: ToolView): Html {
  const when = whenOf(tool['approve'])
  return html`<div class="two">
    ${select(marks, `${at}.approve`, {
      label: 'A person approves its calls',
      value: when === undefined ? textOf(tool, 'approve') : WHEN,
      options: [...APPROVE_MODES, WHEN],
    })}
    ${line(marks, `${at}.approve.${WHEN}`, {
      label: 'Only when',
      value: when ?? '',
      isMono: true,
      placeholder: '@.arguments.amount > 100',
    })}
    ${line(marks, `${at}.decide_within_minutes`, {
      label: 'Minutes for the approval',
      value: textOf(tool, 'decide_within_minutes'),
      placeholder: String(DECIDE_WITHIN_MINUTES),
    })}
    ${select(marks, `${at}.undecided`, {
      label: 'Without a decision',
      value: textOf(tool, 'undecided'),
      options: UNDECIDED,
    })}
  </div>`
}

const timeout = (tool: Draft, { at, marks }: ToolView): Html =>
  line(marks, `${at}.timeout_seconds`, {
    label: 'Longest call, in seconds',
    value: textOf(tool, 'timeout_seconds'),
    placeholder: '30',
  })

const fetchFields = (tool: Draft, view: ToolView): Html =>
  html`${area(view.marks, `${view.at}.allow`, {
    label: 'Hosts, and beginnings of addresses, one a line',
    value: textsOf(tool, 'allow').join('\n'),
    isMono: true,
    placeholder: 'docs.example.com\nhttps://example.com/help/',
  })}
  ${more(view.at, html`${timeout(tool, view)} ${asking(tool, view)}`)}`

/** An automation that is picked by its name, with what it takes. */
function automationFields(tool: Draft, view: ToolView): Html {
  const { at, key, marks, choices } = view
  const value = textOf(tool, 'automation')
  const names = new Map(choices.automations.map(({ name, slug }) => [slug, name]))
  const found = choices.offers.get(key) ?? []
  const offer = typeof found === 'string' ? undefined : found.find(({ name }) => name === value)
  return html`${select(marks, `${at}.automation`, {
      label: 'Automation',
      value,
      options: [...names.keys()],
      textOf: (slug) => `${names.get(slug) ?? 'Unknown'} (${slug})`,
    })}
    <div class="buttons">${act(`look-up-${at}`, 'Show what it takes', key)}</div>
    <div class="offers">
      ${typeof found === 'string' ? html`<p class="field-problem" role="alert">${found}</p>` : ''}
      ${
        offer === undefined
          ? ''
          : html`<p class="version-note">${offer.description}</p>
              ${offer.inputSchema ? argumentsOf(offer.inputSchema) : ''}`
      }
      <input
        type="hidden"
        name="${at}.offered"
        value="${toSeen(typeof found === 'string' ? [] : found)}"
      />
    </div>
    ${more(at, asking(tool, view))}`
}

type Remote = keyof typeof NAMES_IN

const ADDRESS = {
  mcp: { name: 'url', label: 'Address of the server', placeholder: 'https://mcp.example.com/mcp' },
  http: {
    name: 'openapi_url',
    label: 'Address of the OpenAPI document',
    placeholder: 'https://api.example.com/openapi.json',
  },
} as const

/** The address of a server or a document, and what agents may use of what it offers. */
function remoteFields(tool: Draft, view: ToolView & { readonly kind: Remote }): Html {
  const { at, kind, key, marks, choices } = view
  const { name, label, placeholder } = ADDRESS[kind]
  const given = textOf(tool, 'connection')
  return html`${line(marks, `${at}.${name}`, {
      label,
      value: textOf(tool, name),
      isMono: true,
      placeholder,
    })}
    ${
      choices.connections.length > 0 || given !== ''
        ? select(marks, `${at}.connection`, {
            label: 'Connection',
            value: given,
            options: choices.connections,
          })
        : ''
    }
    <div class="buttons">${act(`look-up-${at}`, 'Show what it offers', key)}</div>
    ${offered(tool, view)}
    ${more(
      at,
      html`${line(marks, `${at}.${NAMES_IN[kind]}`, {
        label: kind === 'mcp' ? 'Other tools, by name' : 'Other operations, by operationId',
        value: '',
        isMono: true,
      })}
      ${
        kind === 'http'
          ? line(marks, `${at}.base_url`, {
              label: 'Address of the API, where the document has none',
              value: textOf(tool, 'base_url'),
              isMono: true,
            })
          : ''
      }
      ${line(marks, `${at}.region`, {
        label: 'Region, where it has no connection',
        value: textOf(tool, 'region'),
        isMono: true,
        placeholder: 'eu',
      })}
      ${timeout(tool, view)} ${asking(tool, view)}`,
    )}`
}

/** What may be ticked: all that was seen, and what the definition names already. */
function offered(tool: Draft, view: ToolView & { readonly kind: Remote }): Html {
  const { at, kind, key, marks, choices } = view
  const used = textsOf(tool, NAMES_IN[kind])
  const found = choices.offers.get(key) ?? []
  const seen = typeof found === 'string' ? [] : found
  const shown = seen.slice(0, OFFERS_SHOWN)
  const unseen = used.filter((name) => !shown.some((each) => each.name === name))
  const all = [...shown, ...unseen.map((name) => ({ name, description: '' }))]
  const listed = [
    ...used.flatMap((name) => all.find((each) => each.name === name) ?? []),
    ...shown.filter(({ name }) => !used.includes(name)),
  ].map((each) => toTick(each, used))
  return html`<div class="offers">
    ${typeof found === 'string' ? html`<p class="field-problem" role="alert">${found}</p>` : ''}
    ${
      listed.length > 0
        ? ticks(marks, `${at}.ticked`, { label: 'Agents may use', all: listed })
        : ''
    }
    ${
      seen.length > shown.length
        ? html`<p class="hint">
            It offers ${count(seen.length)}; these are the first ${OFFERS_SHOWN} by name. Name
            others under
            <i>More</i>.
          </p>`
        : ''
    }
    <input type="hidden" name="${at}.offered" value="${toSeen(shown)}" />
    <span class="field-problem" data-mark="${at}.${NAMES_IN[kind]}"></span>
  </div>`
}

const toTick = (offer: Offer, used: readonly string[]): Tick => ({
  value: offer.name,
  text: offerText(offer),
  isOn: used.includes(offer.name),
  ...(offer.inputSchema ? { more: argumentsOf(offer.inputSchema) } : {}),
})

const offerText = ({ name, description, problem }: Offer): Html =>
  html`<b class="mono">${name}</b> ${description.slice(0, DESCRIPTION_SHOWN)}
    ${problem === undefined ? '' : html`<span class="field-problem">${problem}</span>`}`

const argumentsOf = (schema: object): Html =>
  html`<details class="more">
    <summary>Arguments</summary>
    <pre class="code"><code>${JSON.stringify(schema, null, 2)}</code></pre>
  </details>`

/** Returns the tools that an agent can be given, and those that it names and that are not there. */
export const toolTicks = (draft: Draft, agent: Draft): Tick[] => {
  const used = textsOf(agent, 'tools')
  const known = Object.keys(toolsOf(draft))
  return [...new Set([...used, ...known])].map((key) => ({
    value: key,
    text: known.includes(key) ? key : `${key} (unknown)`,
    isOn: used.includes(key),
  }))
}
