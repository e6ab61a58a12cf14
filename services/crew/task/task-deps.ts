import type { CrewDefinition } from '../../platform/definitions/crew-definition.ts'
import type { Llm } from '../../shared/models/llm.ts'
import type { Material } from '../material/material.ts'
import type { Steps } from '../steps.ts'
import type { Toolbox } from '../tools/toolbox.ts'

/** What a run gives to each of its tasks. */
export interface TaskDeps {
  readonly definition: CrewDefinition
  readonly inputs: Readonly<Record<string, unknown>>
  readonly llmFor: (model: string) => Llm
  readonly steps: Steps
  readonly toolbox: Toolbox
  readonly material: Material
}
