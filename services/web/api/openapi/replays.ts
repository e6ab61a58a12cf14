import { STEP_KINDS } from '../../../platform/crew-contract/step-key.ts'
import {
  closed,
  integer,
  json,
  list,
  nullable,
  parameter,
  problem,
  refusedTokens,
  retryAfter,
  schema,
  text,
  uuid,
} from './parts.ts'

const orNull = (of: object) => ({ oneOf: [{ type: 'null' }, of] })
const tokens = { input_tokens: integer, output_tokens: integer }
const failure = closed({ code: text, message: text })

const run = {
  kickoff_id: uuid,
  state: { ...text, enum: ['waiting', 'equal', 'different', 'impossible'] },
  recorded_version: nullable('integer', { description: 'Null: the draft that a test ran.' }),
  reason: nullable('string', { description: 'Why it differs, or cannot be replayed.' }),
  step: {
    ...orNull(closed({ kind: { ...text, enum: STEP_KINDS }, name: text, path: list(text) })),
    description: 'The first step that differs.',
  },
  duration_ms: nullable('integer'),
  recorded_duration_ms: nullable('integer'),
  usage: {
    ...orNull(closed(tokens)),
    description: 'What its answers took when they were recorded: a replay costs nothing.',
  },
  recorded_usage: orNull(closed(tokens)),
}

/** The schemas of the runs of a replay. */
export const REPLAY_SCHEMAS = {
  ReplayedRuns: closed({ runs: list(schema('ReplayedRun')) }),
  ReplayedRun: closed(run),
  ReplayedOutcome: closed({
    ...run,
    request: { description: 'What the step asks; null: nothing.' },
    recorded_request: { description: 'What it asked in the record; null: nothing.' },
    request_diff: nullable('string', { description: 'Both as text, with `- ` and `+ `.' }),
    output: nullable('string'),
    recorded_output: nullable('string'),
    recorded_error: orNull(failure),
  }),
}

const COMMON = {
  ...refusedTokens('No token of the whole organization, and no session.'),
  '403': problem('A role in the organization, or a scope of the token, that does not allow this.'),
  '404': problem('The organization has no such replay, or the replay no such run.'),
  '503': problem('The database is unavailable. Try again.', retryAfter),
}
const replay = [parameter('replay_id', 'path')]
const path = '/designer/v2/replays/{replay_id}/runs'

/** The paths of the runs of a replay. */
export const REPLAY_PATHS = {
  [path]: {
    parameters: replay,
    get: {
      operationId: 'listReplayedRuns',
      tags: ['Designer'],
      summary: 'The runs of a replay: those that differ first',
      responses: { '200': json('All of them.', 'ReplayedRuns'), ...COMMON },
    },
  },
  [`${path}/{kickoff_id}`]: {
    parameters: [...replay, parameter('kickoff_id', 'path')],
    get: {
      operationId: 'getReplayedRun',
      tags: ['Designer'],
      summary: 'A run of a replay: the first step that differs, and both outputs',
      responses: { '200': json('It.', 'ReplayedOutcome'), ...COMMON },
    },
  },
}
