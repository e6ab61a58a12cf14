import { RUN_ERRORS } from '../../../platform/runs/run-errors.ts'
import { ORIGIN_ACTIONS, RUN_STATUSES } from '../../../platform/runs/runs.ts'
import * as s from './parts.ts'

/** The inputs of a run. */
export const inputs = {
  type: 'object',
  additionalProperties: true,
  description: 'By name: texts, numbers, booleans, objects or lists; never null.',
  examples: [{ topic: 'tidal power' }],
}
/** Why a run failed. */
export const failure = s.nullable('object', {
  description: 'Why the run failed; null unless status is error.',
  required: ['code', 'message'],
  properties: {
    code: {
      ...s.text,
      description:
        'A word for programs. Crews from source may bring their own beside these: ' +
        `${Object.keys(RUN_ERRORS).join(', ')}.`,
      examples: ['crew_unreachable', 'llm_rejected', 'execution_timeout'],
    },
    message: s.text,
  },
})
/** The tokens of a run. */
export const usage = s.nullable('object', {
  description: 'Tokens of all model calls; null until the run is completed.',
  required: Object.keys(s.tokens),
  properties: s.tokens,
})
/** What a run put out. */
export const output = s.nullable('string', {
  description: 'What the last task put out; null until completed.',
})
/** The word for how far a run is. */
export const status = {
  ...s.words(RUN_STATUSES),
  description:
    'queued: waits for a worker. running: a crew works on it. waiting: a person is asked. ' +
    'completed, error and stopped: over, nothing changes any more.',
  examples: ['running'],
}
/** The run that a run follows. */
export const origin = s.nullable('object', {
  description: 'The run that this one follows; null for a plain kickoff.',
  required: ['kickoff_id', 'action'],
  properties: { kickoff_id: s.uuid, action: s.words(ORIGIN_ACTIONS) },
})
