import { toolDefinitions } from '../../../../platform/tools/tool-definitions.ts'
import type { OfferingTool } from '../../../intake/tool-pins/pin-tools.ts'
import { isObject } from '../../../../shared/is-object.ts'
import * as v from 'valibot'
import { clean, jsonOf, numberOf, plain, unusedKey, wordsOf } from './values.ts'
import type { Draft } from './values.ts'

/** The types of tools that have a form, with what a new one begins as. */
export const TOOL_KINDS = {
  mcp: { text: 'MCP server', empty: { type: 'mcp', url: '', tools: [] } },
  http: { text: 'OpenAPI document', empty: { type: 'http', openapi_url: '', operations: [] } },
  automation: { text: 'Automation', empty: { type: 'automation', automation: '' } },
  fetch: { text: 'Web pages', empty: { type: 'fetch', allow: [] } },
  time: { text: 'Clock', empty: { type: 'time' } },
  calculator: { text: 'Calculator', empty: { type: 'calculator' } },
  json_query: { text: 'JSON query', empty: { type: 'json_query' } },
} as const
/** A type of tools that has a form; `json` is the form of any other one. */
export type ToolKind = keyof typeof TOOL_KINDS | 'json'

const isKind = (given: unknown): given is keyof typeof TOOL_KINDS =>
  typeof given === 'string' && Object.hasOwn(TOOL_KINDS, given)

/** The names that agents may use of a tool, in this field. */
export const NAMES_IN = { mcp: 'tools', http: 'operations' } as const

/** The fields of each tool whose calls a person decides about. */
const ASKING = ['approve', 'decide_within_minutes', 'undecided']

/** How the fields of each type become its values. */
const FIELDS: Readonly<Record<ToolKind, readonly string[]>> = {
  mcp: ['url', 'connection', 'region', 'timeout_seconds', ...ASKING],
  http: ['openapi_url', 'base_url', 'connection', 'region', 'timeout_seconds', ...ASKING],
  automation: ['automation', ...ASKING],
  fetch: ['allow', 'timeout_seconds', ...ASKING],
  time: ASKING,
  calculator: ASKING,
  json_query: ASKING,
  json: [],
}

/** The choice of a condition, in place of a mode of `approve`. */
export const WHEN = 'when'

/** Returns the tools of a draft by key. */
export const toolsOf = (draft: Draft): Draft => (isObject(draft['tools']) ? draft['tools'] : {})

/** Returns the form that a tool has: that of its type where this can show all that it says. */
export function kindOf(tool: unknown): ToolKind {
  if (!isObject(tool) || !isKind(tool['type'])) return 'json'
  const kind = tool['type']
  const shown = new Set([
    'type',
    'pinned',
    ...FIELDS[kind],
    ...(isRemote(kind) ? [NAMES_IN[kind]] : []),
  ])
  const isShown = Object.entries(tool).every(
    ([name, value]) =>
      shown.has(name) &&
      (name === 'pinned' || isPlain((name === 'approve' ? whenOf(value) : undefined) ?? value)),
  )
  return isShown ? kind : 'json'
}

/** Returns true for the types whose tools are elsewhere. */
export const isRemote = (kind: ToolKind): kind is keyof typeof NAMES_IN =>
  Object.hasOwn(NAMES_IN, kind)

/** What a field can show: a text without another line, a number, or such texts. */
const isPlain = (value: unknown): boolean =>
  Array.isArray(value)
    ? value.every((each) => typeof each === 'string' && /^\S.*\S$|^\S$/u.test(each))
    : typeof value === 'number' || (typeof value === 'string' && !/[\r\n]/u.test(value))

/** Returns the condition of `approve`, if that is all that it has. */
export function whenOf(approve: unknown): string | undefined {
  if (!isObject(approve) || Object.keys(approve).length !== 1) return undefined
  const { [WHEN]: when } = approve
  return typeof when === 'string' ? when : undefined
}

/** Returns the texts of a list of a tool. */
export function textsOf(tool: unknown, name: string): readonly string[] {
  const value = isObject(tool) ? tool[name] : undefined
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []
}

/** Reads the tools of the form, in its order. */
export function readTools(draft: Draft, form: URLSearchParams): Draft | undefined {
  const tools = toolsOf(draft)
  const read = new Map<string, unknown>()
  for (const [index, [former, tool]] of Object.entries(tools).entries()) {
    const at = `tools.${index}.`
    const key = plain(form.get(`${at}key`) ?? former).trim()
    const value = readTool(tool, form, at)
    read.set(
      unusedKey(key, (each) => read.has(each)),
      value,
    )
  }
  return draft['tools'] === undefined ? undefined : Object.fromEntries(read)
}

function readTool(tool: unknown, form: URLSearchParams, at: string): unknown {
  const value = form.get(`${at}value`)
  if (value !== null) {
    // An emptied box is no tool, and the check says so.
    const read = jsonOf(plain(value))
    return read === undefined ? plain(value) : read
  }
  const kind = kindOf(tool)
  if (!isObject(tool) || kind === 'json') return tool
  const fields = FIELDS[kind]
    .filter((name) => form.has(at + name))
    .map((name) => {
      const typed = plain(form.get(at + name) ?? '')
      return [
        name,
        name === 'approve' ? readApprove(typed, form, at) : readField(name, typed, tool),
      ]
    })
  const names = isRemote(kind) ? readNames(form, at, NAMES_IN[kind]) : {}
  return clean({ ...tool, ...Object.fromEntries(fields), ...names })
}

/** A condition alone is a choice, too. */
function readApprove(mode: string, form: URLSearchParams, at: string): unknown {
  const when = plain(form.get(`${at}approve.${WHEN}`) ?? '').trim()
  if (mode === WHEN || (mode === '' && when !== '')) return { [WHEN]: when }
  return mode === '' ? undefined : mode
}

/** The address of a server stays empty while it is typed; what else is empty is left out. */
function readField(name: string, typed: string, tool: Draft): unknown {
  if (name === 'timeout_seconds' || name === 'decide_within_minutes') return numberOf(typed)
  if (name === 'allow')
    return typed
      .split('\n')
      .map((each) => each.trim())
      .filter(Boolean)
  const isKept = typed.trim() !== '' || tool[name] === ''
  return isKept ? typed.trim() : undefined
}

/** Reads what is ticked, and what is named by hand; nothing where the form has no field for it. */
function readNames(form: URLSearchParams, at: string, name: string): Draft {
  const typed = form.get(`${at}${name}`)
  if (typed === null) return {}
  return { [name]: [...new Set([...form.getAll(`${at}ticked`), ...wordsOf(typed)])] }
}

/** Adds a tool of a type, or removes one. */
export function changeTools(tools: Draft, verb: string, what: string): Draft | undefined {
  if (verb === 'add') {
    const kind = isKind(what) ? what : 'mcp'
    const key = unusedKey(kind, (each) => Object.hasOwn(tools, each))
    return { ...tools, [key]: TOOL_KINDS[kind].empty }
  }
  const kept = Object.entries(tools).filter((_, at) => at !== Number(what))
  return kept.length === 0 ? undefined : Object.fromEntries(kept)
}

/** Returns a tool whose offers can be listed, or what it lacks for that. */
export function offeringTool(key: string, tool: unknown): OfferingTool | string {
  const named = isObject(tool) ? { ...tool, ...namedOnce(tool) } : tool
  const result = v.safeParse(toolDefinitions, { [key]: named })
  if (!result.success) return result.issues.map(({ message }) => message).join('; ')
  const [read] = Object.values(result.output)
  return read?.type === 'mcp' || read?.type === 'http' || read?.type === 'automation'
    ? read
    : 'offers nothing to choose from'
}

/** A tool that names nothing yet is not valid, but its address may be. */
function namedOnce(tool: Draft): Draft {
  const kind = kindOf(tool)
  return isRemote(kind) && textsOf(tool, NAMES_IN[kind]).length === 0
    ? { [NAMES_IN[kind]]: ['any'] }
    : {}
}
