import { isObject } from '../../../shared/is-object.ts'

/** A definition while it is edited: an object of JSON that may not be valid yet. */
export type Draft = Readonly<Record<string, unknown>>

/** The lists of a definition that the form has entries for. */
const LISTS = ['inputs', 'agents', 'tasks'] as const
type ListName = (typeof LISTS)[number]

const EMPTY: Readonly<Record<ListName, Draft>> = {
  inputs: { name: '' },
  agents: { key: '', role: '', goal: '' },
  tasks: { key: '', description: '', expected_output: '' },
}
/** As many entries as a definition may have. */
const ENTRIES_MAX = 100

/** Returns the entries of a list; an input may be written as its name alone. */
export function entriesOf(draft: Draft, list: ListName): readonly Draft[] {
  const value = draft[list]
  if (!Array.isArray(value)) return []
  return value.slice(0, ENTRIES_MAX).map((each) => (isObject(each) ? each : { name: String(each) }))
}

/** Returns the text of a field; empty for what is no text, number or truth value. */
export function textOf(entry: Draft, name: string): string {
  const value = entry[name]
  return ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : ''
}

/** How a field of the form becomes a value of the definition; undefined: it is left out. */
type Reader = (text: string) => unknown

const text: Reader = (typed) => typed
const optional: Reader = (typed) => (typed.trim() === '' ? undefined : typed)
const number: Reader = (typed) => {
  const trimmed = typed.trim()
  if (trimmed === '') return undefined
  return Number.isFinite(Number(trimmed)) ? Number(trimmed) : trimmed
}
const tick: Reader = (typed) => (typed === 'on' ? true : undefined)
const names: Reader = (typed) => {
  const given = typed.split(/[\s,]+/u).filter((each) => each !== '')
  return given.length > 0 ? given : undefined
}
/** An input is required unless the definition says otherwise. */
const isRequired: Reader = (typed) => (typed === 'on' ? undefined : false)
const json: Reader = (typed) => {
  if (typed.trim() === '') return undefined
  try {
    return JSON.parse(typed)
  } catch {
    return typed
  }
}

const FIELDS: Readonly<Record<ListName, Readonly<Record<string, Reader>>>> = {
  inputs: {
    name: text,
    type: optional,
    label: optional,
    description: optional,
    default: json,
    required: isRequired,
  },
  agents: {
    key: text,
    role: text,
    goal: text,
    backstory: optional,
    tools: names,
    allow_delegation: tick,
  },
  tasks: {
    key: text,
    agent: optional,
    description: text,
    expected_output: text,
    context: names,
    async: tick,
    human_input: tick,
    decide_within_minutes: number,
    undecided: optional,
    markdown: tick,
    output_file: optional,
  },
}

/**
 * Returns a draft with the values of the form. What the form has no field for stays: each entry of
 * the form says which one of the draft it is.
 */
export function applyForm(draft: Draft, form: URLSearchParams): Draft {
  const llm = isObject(draft['llm']) ? draft['llm'] : {}
  const given = Object.fromEntries(LISTS.map((list) => [list, readList(draft, list, form)]))
  return clean({
    ...draft,
    name: form.get('name') ?? '',
    llm: clean({
      ...llm,
      model: form.get('llm.model') ?? '',
      temperature: number(form.get('llm.temperature') ?? ''),
      max_tokens: number(form.get('llm.max_tokens') ?? ''),
      reasoning_effort: optional(form.get('llm.reasoning_effort') ?? ''),
    }),
    process: optional(form.get('process') ?? ''),
    ...given,
    inputs: given['inputs']?.length === 0 ? undefined : given['inputs'],
    tools: readTools(draft, form),
  })
}

function readList(draft: Draft, list: ListName, form: URLSearchParams): Draft[] {
  const known = entriesOf(draft, list)
  return known.map((entry, index) => {
    const read = Object.entries(FIELDS[list]).map(([name, reader]) => [
      name,
      reader(plain(form.get(`${list}.${index}.${name}`) ?? '')),
    ])
    return clean({ ...entry, ...Object.fromEntries(read) })
  })
}

/** Each tool is its key and its JSON. */
function readTools(draft: Draft, form: URLSearchParams): Draft | undefined {
  const count = Object.keys(toolsOf(draft)).length
  const read = new Map<string, unknown>()
  for (let index = 0; index < count; index += 1) {
    const key = plain(form.get(`tools.${index}.key`) ?? '').trim()
    const unused = unusedKey(key, (each) => read.has(each))
    read.set(unused, json(plain(form.get(`tools.${index}.value`) ?? '')))
  }
  return count === 0 ? undefined : Object.fromEntries(read)
}

/** Returns the key, with a number where another tool has it: none takes another's place. */
function unusedKey(key: string, isUsed: (key: string) => boolean): string {
  let unused = key
  for (let number = 2; isUsed(unused); number += 1) unused = `${key || 'tool'}_${number}`
  return unused
}

/** Returns the tools of a draft by key. */
export const toolsOf = (draft: Draft): Draft => (isObject(draft['tools']) ? draft['tools'] : {})

const plain = (typed: string): string => typed.replaceAll('\r\n', '\n')

const clean = (entry: Draft): Draft =>
  Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== undefined))

const ACTION = /^(add|remove|up)-(inputs|agents|tasks|tools)(?:\.(\d{1,3}))?$/

/** Adds, removes or moves an entry, as a button of the form says; anything else changes nothing. */
export function actOn(draft: Draft, action: string): Draft {
  const [, verb, list = '', place = '0'] = ACTION.exec(action) ?? []
  if (verb === undefined) return draft
  const index = Number(place)
  if (list === 'tools') return { ...draft, tools: changeTools(toolsOf(draft), verb, index) }
  const name = LISTS.find((each) => each === list) ?? 'tasks'
  return { ...draft, [name]: changeList(entriesOf(draft, name), { verb, index, name }) }
}

function changeList(
  entries: readonly Draft[],
  { verb, index, name }: { verb: string; index: number; name: ListName },
): readonly Draft[] {
  if (verb === 'add') return entries.length < ENTRIES_MAX ? [...entries, EMPTY[name]] : entries
  if (verb === 'remove') return entries.filter((_, at) => at !== index)
  const moved = entries[index]
  if (!moved || index === 0) return entries
  return [
    ...entries.slice(0, index - 1),
    moved,
    ...entries.slice(index - 1).filter((each) => each !== moved),
  ]
}

function changeTools(tools: Draft, verb: string, index: number): Draft {
  if (verb === 'add') {
    const key = unusedKey('', (each) => Object.hasOwn(tools, each))
    return { ...tools, [key]: { type: 'fetch', allow: ['docs.example.com'] } }
  }
  return Object.fromEntries(Object.entries(tools).filter((_, at) => at !== index))
}
