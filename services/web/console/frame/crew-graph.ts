import { html } from 'hono/html'
import { orderTasks } from '../../../platform/definitions/task-order.ts'
import type { OrderedTask } from '../../../platform/definitions/task-order.ts'
import { isObject } from '../../../shared/is-object.ts'
import type { Html } from './parts.ts'

/** How far a task of a run is. */
export type TaskState = 'running' | 'asks' | 'done' | 'skipped' | 'failed'

interface GraphTask extends OrderedTask {
  readonly agent: string
  /** Whether it is done, how often, and what happens to its output before others get it. */
  readonly marks: readonly string[]
}

/** A task in its row, and the tasks right before it. */
interface Place {
  readonly task: GraphTask
  readonly row: number
  readonly after: readonly string[]
}

const [WIDTH, HEIGHT, GAP_X, GAP_Y] = [200, 48, 16, 26]
/** Beside more of them, a box that fits could not be read. */
const COLUMNS_SHRUNK_MAX = 2
const CHARACTERS_MAX = 26
const STATES = {
  running: 'running',
  asks: 'asks a person',
  done: 'done',
  skipped: 'skipped',
  failed: 'failed',
} as const

/**
 * Draws the tasks of a definition in the order in which they run: those beside each other run at
 * the same time. Nothing for a definition without tasks.
 */
export function crewGraph(
  definition: unknown,
  states: ReadonlyMap<string, TaskState> = new Map(),
): Html | string {
  const places = placeTasks(tasksOf(definition))
  if (places.length === 0) return ''
  const rows = places.reduce((count, { row }) => Math.max(count, row + 1), 0)
  const inRow = Array.from({ length: rows }, (_, row) =>
    places.filter((place) => place.row === row),
  )
  const columns = Math.max(...inRow.map(({ length }) => length))
  const width = spread(columns, WIDTH, GAP_X)
  const height = spread(rows, HEIGHT, GAP_Y)
  const at = new Map(
    inRow.flatMap((tasks, row) => {
      const left = (width - spread(tasks.length, WIDTH, GAP_X)) / 2
      return tasks.map(({ task }, index) => {
        const corner = { x: left + index * (WIDTH + GAP_X), y: row * (HEIGHT + GAP_Y) }
        return [task.key, corner] as const
      })
    }),
  )
  const edges = places.flatMap(({ task, after }) =>
    after.map((before) => edge(at.get(before), at.get(task.key))),
  )
  return html`<div class="crew-graph" tabindex="0" role="group" aria-label="Order of the tasks">
    <svg
      class="${columns > COLUMNS_SHRUNK_MAX ? 'wide' : ''}"
      viewBox="-1 -1 ${width + 2} ${height + 2}"
      width="${width + 2}"
      role="img"
    >
      <title>${places.map((place) => inWords(place, states)).join('; ')}</title>
      ${edges} ${places.map(({ task }) => box(task, at.get(task.key), states.get(task.key)))}
    </svg>
  </div>`
}

/** The length of so many boxes with gaps between them. */
const spread = (count: number, size: number, gap: number): number => count * (size + gap) - gap

interface Corner {
  readonly x: number
  readonly y: number
}
const ORIGIN: Corner = { x: 0, y: 0 }

function edge(from = ORIGIN, to = ORIGIN): Html {
  const [x1, y1, x2, y2] = [from.x + WIDTH / 2, from.y + HEIGHT, to.x + WIDTH / 2, to.y]
  const bend = (y2 - y1) / 2
  return html`<path d="M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}" />`
}

function box({ key, agent, marks }: GraphTask, { x, y } = ORIGIN, state?: TaskState): Html {
  const rect = (gap: number): Html =>
    html`<rect
      x="${gap}"
      y="${gap}"
      width="${WIDTH - 2 * gap}"
      height="${HEIGHT - 2 * gap}"
      rx="8"
    />`
  const looks = [state, ...marks.filter((mark) => mark === CONDITIONAL)].join(' ')
  return html`<g transform="translate(${x} ${y})" class="${looks}">
    ${rect(0)} ${marks.includes(EACH) ? rect(3) : ''}
    <text x="12" y="20" class="mono">${short(key)}</text>
    <text x="12" y="37">${short([...marks, agent].filter((each) => each !== '').join(' · '))}</text>
  </g>`
}

const short = (text: string): string =>
  text.length > CHARACTERS_MAX ? `${text.slice(0, CHARACTERS_MAX - 1)}…` : text

function inWords({ task, after }: Place, states: ReadonlyMap<string, TaskState>): string {
  const state = states.get(task.key)
  const waits = after.length > 0 ? ` after ${after.join(' and ')}` : ''
  const facts = [...task.marks, ...(state ? [STATES[state]] : [])]
  return `${task.key}${waits}${facts.length > 0 ? ` (${facts.join(', ')})` : ''}`
}

/** Reads what can be drawn of a definition, which may not be valid yet. */
export function tasksOf(definition: unknown): GraphTask[] {
  const tasks = isObject(definition) ? definition['tasks'] : undefined
  if (!Array.isArray(tasks)) return []
  const named = tasks.filter(isObject).filter(({ key }) => typeof key === 'string' && key !== '')
  const keys = named.map(({ key }) => String(key))
  return named
    .filter((_, index) => keys.indexOf(keys[index] ?? '') === index)
    .map((task) => ({
      key: String(task['key']),
      agent: typeof task['agent'] === 'string' ? task['agent'] : '',
      async: task['async'] === true,
      context: Array.isArray(task['context']) ? task['context'].map(String) : undefined,
      marks: marksOf(task),
    }))
}

const [CONDITIONAL, EACH] = ['conditional', 'each item']
const MARKS: Readonly<Record<string, string>> = {
  when: CONDITIONAL,
  for_each: EACH,
  retry: 'retried',
  guardrail: 'checked',
  guardrails: 'checked',
}

function marksOf(task: Readonly<Record<string, unknown>>): string[] {
  const marks = Object.keys(MARKS).flatMap((field) =>
    task[field] === undefined ? [] : (MARKS[field] ?? []),
  )
  return [...new Set([...marks, ...(task['human_input'] === true ? ['approved'] : [])])]
}

/**
 * Returns the row of each task, below all that it waits for, and the tasks that it waits for which
 * no other one of these waits for.
 */
export function placeTasks(tasks: readonly GraphTask[]): Place[] {
  const order = orderTasks(tasks)
  const indexOf = new Map(tasks.map(({ key }, index) => [key, index]))
  const rows: number[] = []
  const all: ReadonlySet<string>[] = []
  return tasks.map((task, index) => {
    // What is named and is no task before it is a mistake, which the editor names.
    const waits = (order[index]?.after ?? []).filter((key) => (indexOf.get(key) ?? index) < index)
    const places = waits.map((key) => indexOf.get(key) ?? 0)
    const further = new Set(places.flatMap((place) => [...(all[place] ?? [])]))
    const row = Math.max(-1, ...places.map((place) => rows[place] ?? 0)) + 1
    rows.push(row)
    all.push(new Set([...waits, ...further]))
    return { task, row, after: waits.filter((key) => !further.has(key)) }
  })
}
