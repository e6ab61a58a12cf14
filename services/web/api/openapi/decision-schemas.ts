import { DECISIONS, UNDECIDED } from '../../../platform/approvals/approval-decisions.ts'
import { ANSWER_CHARACTERS_MAX } from '../../../platform/runs/run-approvals.ts'
import { closed, moment, schema, text } from './parts.ts'

/** The schemas of what a run asks a person, and of the decision. */
export const DECISION_SCHEMAS = {
  WaitingFor: closed({
    task: text,
    output: {
      ...text,
      description: 'What the task would put out; of a call, its arguments as JSON.',
    },
    call: {
      description: 'The call of a tool that waits; null for the output of a task.',
      oneOf: [schema('WaitingCall'), { type: 'null' }],
    },
    asked_at: moment,
    decide_by: { ...moment, description: 'Then `undecided` counts as the decision.' },
    undecided: { ...text, enum: UNDECIDED },
  }),
  WaitingCall: closed({
    id: { ...text, description: 'What a decision about this call names.' },
    name: { ...text, description: 'As the model sees it.' },
    tool: { ...text, description: 'The key of the tool in the version.' },
    description: text,
    parameters: { type: 'object', description: 'The JSON Schema of its arguments, or answers.' },
    question: {
      description:
        'What the server of the tool asks in the middle of the call: `edit` answers by the ' +
        'schema in `parameters`, and `reject` declines. Null: whether the call is made.',
      oneOf: [schema('CallQuestion'), { type: 'null' }],
    },
  }),
  CallQuestion: closed({
    server: { ...text, description: 'The host that asks.' },
    messages: {
      type: 'object',
      additionalProperties: text,
      description: 'What it asks, by the keys of the answers.',
    },
  }),
  ResumeRequest: {
    type: 'object',
    additionalProperties: false,
    description: 'A decision; or an empty object, for a run that waits for a budget.',
    properties: {
      task: { ...text, minLength: 1, description: 'The key of the task that waits.' },
      call: { ...text, description: 'The id of the call that waits; not for an output.' },
      decision: { ...text, enum: DECISIONS },
      text: {
        ...text,
        maxLength: ANSWER_CHARACTERS_MAX,
        description:
          'What the task puts out instead, or the arguments of the call or the answers to its ' +
          'question as JSON, which `edit` needs; or why it is rejected.',
      },
    },
    // Generators of clients know `required` and `not`; with `anyOf` they would lose the properties.
    not: {
      anyOf: [
        { minProperties: 1, not: { required: ['task', 'decision'] } },
        {
          required: ['decision'],
          properties: { decision: { const: 'edit' } },
          not: { required: ['text'] },
        },
      ],
    },
  },
}
