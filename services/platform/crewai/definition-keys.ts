import * as v from 'valibot'
import { crewDefinition } from '../crew-definition.ts'

const AGENT = { key: 'a', role: 'r', goal: 'g' }
const TASK = { key: 't', description: 'd', expected_output: 'e', agent: 'a' }
const CREW = { name: 'c', llm: { model: 'm' }, agents: [AGENT], tasks: [TASK] }

/** Returns true when definitions of this version have a key with such a value. */
export function hasKey(
  kind: 'agents' | 'tasks' | 'crew',
  extra: Readonly<Record<string, unknown>>,
): boolean {
  const part = kind === 'agents' ? AGENT : TASK
  const crew =
    kind === 'crew' ? { ...CREW, ...extra } : { ...CREW, [kind]: [{ ...part, ...extra }] }
  return v.safeParse(crewDefinition, crew).success
}
