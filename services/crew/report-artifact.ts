import type { CrewDefinition, Task } from '../platform/definitions/crew-definition.ts'
import type { Steps } from './steps.ts'
import { fillIn } from '../platform/definitions/crew-definition.ts'
import { numberedName, safeName } from '../platform/definitions/output-file.ts'
import type { Inputs } from '../platform/definitions/input-declarations.ts'

interface Written {
  readonly definition: CrewDefinition
  readonly inputs: Readonly<Record<string, unknown>>
  readonly task: Task
  /** The key of the task's step. */
  readonly step: string
  readonly output: string
}

/** Reports the output of a task as its file, where the task has one. */
export function reportArtifact(steps: Steps, written: Written): void {
  const { definition, inputs, task, step, output: content } = written
  const name = artifactNames(definition, inputs).get(task.key)
  if (name === undefined) return
  const at = new Date().toISOString()
  steps.report({ type: 'artifact', at, step, task: task.key, name, content })
}

/**
 * Returns the names of the files that the tasks of a run write, by the keys of the tasks. Names are
 * unique, also where case does not count, and the same in each attempt.
 */
export function artifactNames(
  { tasks }: Pick<CrewDefinition, 'tasks'>,
  inputs: Inputs,
): Map<string, string> {
  const taken = new Set<string>()
  const names = new Map<string, string>()
  for (const { key, output_file: template } of tasks) {
    if (template === undefined) continue
    const wanted = safeName(fillIn(template, inputs)) || `${key}.txt`
    let name = wanted
    for (let number = 2; taken.has(name.toLowerCase()); number += 1) {
      name = numberedName(wanted, number)
    }
    taken.add(name.toLowerCase())
    names.set(key, name)
  }
  return names
}
