import type { RunStep } from './run-steps.ts'

/** The items of a task that are shown; those before them that are done share a row. */
const ITEMS_SHOWN = 20

/** Puts the items of a list that are done into one row for each task, but for the newest. */
export function foldItems(steps: readonly RunStep[]): readonly RunStep[] {
  const groups = new Map<string, RunStep[]>()
  for (const step of steps) {
    const task = taskOfItem(step)
    if (task !== undefined) groups.set(task, [...(groups.get(task) ?? []), step])
  }
  const folded = new Map<RunStep, RunStep | undefined>()
  for (const items of groups.values()) {
    const [first, ...others] = items.slice(0, -ITEMS_SHOWN)
    if (first && others.length > 0) folded.set(first, toRow(first, [first, ...others]))
    for (const each of others) folded.set(each, undefined)
  }
  let depth = Infinity
  return steps.flatMap((step) => {
    // What is below an item is folded with it.
    if (step.depth > depth) return []
    depth = folded.has(step) ? step.depth : Infinity
    return folded.has(step) ? (folded.get(step) ?? []) : step
  })
}

/** The task that a step is an item of which is done. */
function taskOfItem({ kind, endMs, isError, isCutOff, facts: { path } }: RunStep) {
  const [task, ...rest]: readonly unknown[] = Array.isArray(path) ? path : []
  const isItem = kind === 'task' && /^item:\d+$/.test(String(rest.at(-1)))
  return isItem && endMs !== null && !isError && !isCutOff ? String(task) : undefined
}

function toRow(first: RunStep, items: readonly RunStep[]): RunStep {
  const name = `${items.length} items`
  return {
    ...first,
    id: `${first.id}-items`,
    name,
    label: 'done',
    said: name,
    startMs: items.reduce((least, { startMs }) => Math.min(least, startMs), first.startMs),
    endMs: items.reduce((most, { endMs }) => Math.max(most, endMs ?? 0), 0),
    tokens: items.reduce((sum, { tokens }) => sum + (tokens ?? 0), 0),
    facts: { type: 'items' },
  }
}
