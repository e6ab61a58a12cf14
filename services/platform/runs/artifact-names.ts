import { fillIn } from '../definitions/crew-definition.ts'
import type { CrewDefinition } from '../definitions/crew-definition.ts'
import { numberedName, safeName } from '../definitions/output-file.ts'
import type { Inputs } from '../definitions/input-declarations.ts'

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
