import { artifactNames } from '../platform/runs/artifact-names.ts'
import type { CrewDefinition, Task } from '../platform/definitions/crew-definition.ts'
import type { Steps } from './steps.ts'

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
