import { isObject } from '../../../../shared/is-object.ts'
import { changeTools, readTools, toolsOf } from './tools.ts'
import { clean, jsonOf, numberOf, plain, unusedKey, wordsOf } from './values.ts'
import type { Draft } from './values.ts'

/** The lists of a definition that the form has entries for. */
const LISTS = ['inputs', 'agents', 'tasks'] as const
type ListName = (typeof LISTS)[number]

/** Says that the form has shown which tasks there are to choose from. */
export const SHOWN = '-'
/** The tick for the context that a task has where the definition says nothing. */
export const AS_USUAL = '*'

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

/**
 * How what is typed becomes a value of the definition, where it was `former`; undefined: it is left
 * out.
 */
type Reader = (typed: string, former: unknown) => unknown

const text: Reader = (typed) => typed
const optional: Reader = (typed) => (typed.trim() === '' ? undefined : typed)
const tick: Reader = (typed, former) => {
  if (typed === 'on') return true
  return former === false ? false : undefined
}
const names: Reader = (typed, former) => {
  const given = wordsOf(typed)
  return given.length > 0 || isEmptyList(former) ? given : undefined
}
/** An input is required unless the definition says otherwise. */
const isRequired: Reader = (typed, former) => {
  if (typed !== 'on') return false
  return former === true ? true : undefined
}
/** Tasks that are ticked count before the tick for what is usual. */
const context: Reader = (typed) => {
  const given = wordsOf(typed)
  const tasks = given.filter((each) => each !== SHOWN && each !== AS_USUAL)
  return tasks.length > 0 || (given.includes(SHOWN) && !given.includes(AS_USUAL))
    ? tasks
    : undefined
}
const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0

const FIELDS: Readonly<Record<ListName, Readonly<Record<string, Reader>>>> = {
  inputs: {
    name: text,
    type: optional,
    label: optional,
    description: optional,
    default: jsonOf,
    required: isRequired,
  },
  agents: {
    key: text,
    role: text,
    goal: text,
    backstory: optional,
    tools: names,
    knowledge: names,
    allow_delegation: tick,
  },
  tasks: {
    key: text,
    agent: optional,
    description: text,
    expected_output: text,
    context,
    async: tick,
    human_input: tick,
    decide_within_minutes: numberOf,
    undecided: optional,
    markdown: tick,
    output_file: optional,
    when: optional,
    for_each: optional,
    parallel: numberOf,
    timeout_seconds: numberOf,
  },
}
const RETRY_FIELDS = { times: numberOf, wait_seconds: numberOf, on: names }

/**
 * Returns a draft with the values of the form. What the form has no field for stays: each entry of
 * the form says which one of the draft it is.
 */
export function applyForm(draft: Draft, form: URLSearchParams): Draft {
  const llm = isObject(draft['llm']) ? draft['llm'] : {}
  const [inputs, agents, tasks] = [
    readList(draft, 'inputs', form),
    readList(draft, 'agents', form),
    readList(draft, 'tasks', form),
  ]
  const read = clean({
    ...draft,
    name: form.get('name') ?? '',
    llm: clean({
      ...llm,
      model: form.get('llm.model') ?? '',
      fallbacks: names(form.get('llm.fallbacks') ?? '', llm['fallbacks']),
      temperature: numberOf(form.get('llm.temperature') ?? ''),
      max_tokens: numberOf(form.get('llm.max_tokens') ?? ''),
      reasoning_effort: optional(form.get('llm.reasoning_effort') ?? '', undefined),
    }),
    process: optional(form.get('process') ?? '', undefined),
    agents,
    tasks,
    inputs: inputs.length > 0 || isEmptyList(draft['inputs']) ? inputs : undefined,
    tools: readTools(draft, form),
  })
  return withNewKeys(draft, read)
}

/** What an entry that has another key now was named by keeps naming it. */
function withNewKeys(former: Draft, draft: Draft): Draft {
  const newKey = (list: 'agents' | 'tasks') => renamed(keysOf(former, list), keysOf(draft, list))
  const [agent, task] = [newKey('agents'), newKey('tasks')]
  const tool = renamed(Object.keys(toolsOf(former)), Object.keys(toolsOf(draft)))
  const each = (list: ListName, change: (entry: Draft) => Draft): unknown[] =>
    entriesOf(draft, list).map((entry) => clean(change(entry)))
  return clean({
    ...draft,
    manager_agent: agent(draft['manager_agent']),
    agents: each('agents', (entry) => ({ ...entry, tools: tool(entry['tools']) })),
    tasks: each('tasks', (entry) => ({
      ...entry,
      agent: agent(entry['agent']),
      context: task(entry['context']),
      when: inPaths(task, entry['when']),
      for_each: inPaths(task, entry['for_each']),
    })),
  })
}

const keysOf = (draft: Draft, list: ListName): string[] =>
  entriesOf(draft, list).map((entry) => textOf(entry, 'key'))

/** Returns what puts the new keys in the place of former ones, in a key or a list of them. */
function renamed(former: readonly string[], now: readonly string[]): (named: unknown) => unknown {
  const changed = new Map(
    former.flatMap((key, index) =>
      key === '' || now.includes(key) ? [] : [[key, now[index] ?? key] as const],
    ),
  )
  const one = (named: unknown): unknown =>
    typeof named === 'string' ? (changed.get(named) ?? named) : named
  return (named) => (Array.isArray(named) ? named.map(one) : one(named))
}

/** Puts the new keys of tasks in the place of former ones in a condition or a path. */
const inPaths = (task: (named: unknown) => unknown, text: unknown): unknown =>
  typeof text === 'string'
    ? text.replaceAll(/(?<=[$@]\.outputs\.)\w+/g, (key) => String(task(key)))
    : text

interface Entry {
  /** The beginning of the names of its fields. */
  readonly at: string
  readonly former: Draft
  readonly form: URLSearchParams
}

function readFields(fields: Readonly<Record<string, Reader>>, { at, former, form }: Entry): Draft {
  const read = Object.entries(fields).map(([name, reader]) => {
    // Ticks of one name are one list.
    const typed = form.getAll(`${at}.${name}`).join(' ')
    return [name, reader(plain(typed), former[name])]
  })
  return clean({ ...former, ...Object.fromEntries(read) })
}

/** What is no object, or an empty one, stays until something is typed. */
function readRetry({ at, former: { retry }, form }: Entry): unknown {
  const former = isObject(retry) ? retry : {}
  const read = readFields(RETRY_FIELDS, { at: `${at}.retry`, former, form })
  if (Object.keys(read).length > 0) return read
  return Object.keys(former).length > 0 ? undefined : retry
}

function readList(draft: Draft, list: ListName, form: URLSearchParams): unknown[] {
  const written = draft[list]
  const taken = new Set<string>()
  return entriesOf(draft, list).map((entry, index) => {
    const place = { at: `${list}.${index}`, former: entry, form }
    const read = readFields(FIELDS[list], place)
    const one = list === 'tasks' ? clean({ ...read, retry: readRetry(place) }) : read
    const isName = Array.isArray(written) && typeof written[index] === 'string'
    if (list === 'inputs') return isName && Object.keys(one).length === 1 ? one['name'] : one
    const key = textOf(one, 'key') || keyOf(textOf(one, NAMED_BY[list]), taken)
    taken.add(key)
    return { ...one, key }
  })
}

/** What a key is made of where none is typed. */
const NAMED_BY = { agents: 'role', tasks: 'description' } as const
const KEY_WORDS = 3

/** Returns a key that is not taken: the first words of a text. */
function keyOf(text: string, taken: ReadonlySet<string>): string {
  const words =
    text
      .normalize('NFKD')
      .toLowerCase()
      .match(/[a-z][a-z0-9]*/g) ?? []
  const key = words.slice(0, KEY_WORDS).join('_').slice(0, 40)
  return key === '' ? '' : unusedKey(key, (each) => taken.has(each))
}

const ACTION = /^(add|remove|up)-(inputs|agents|tasks|tools)(?:\.(\w{1,20}))?$/

/** Adds, removes or moves an entry, as a button of the form says; anything else changes nothing. */
export function actOn(draft: Draft, action: string): Draft {
  const [, verb, list = '', what = '0'] = ACTION.exec(action) ?? []
  if (verb === undefined) return draft
  if (list === 'tools') return { ...draft, tools: changeTools(toolsOf(draft), verb, what) }
  const name = LISTS.find((each) => each === list) ?? 'tasks'
  return { ...draft, [name]: changeList(draft, { verb, index: Number(what), name }) }
}

function changeList(
  draft: Draft,
  { verb, index, name }: { verb: string; index: number; name: ListName },
): readonly Draft[] {
  const entries = entriesOf(draft, name)
  if (verb === 'add') {
    return entries.length < ENTRIES_MAX ? [...entries, newEntry(draft, name)] : entries
  }
  if (verb === 'remove') return entries.filter((_, at) => at !== index)
  const moved = entries[index]
  if (!moved || index === 0) return entries
  return [
    ...entries.slice(0, index - 1),
    moved,
    ...entries.slice(index - 1).filter((each) => each !== moved),
  ]
}

/** A new task is that of the only agent. */
function newEntry(draft: Draft, name: ListName): Draft {
  const [agent, ...others] = entriesOf(draft, 'agents')
  return name === 'tasks' && agent && others.length === 0
    ? { ...EMPTY.tasks, agent: textOf(agent, 'key') }
    : EMPTY[name]
}
