import * as v from 'valibot'
import { dictionary } from '../../shared/dictionary.ts'
import { prose } from './event-text.ts'

const json = v.record(v.string(), v.unknown())

const callQuestion = v.object({
  /** The host that asks. */
  server: prose,
  messages: dictionary(v.string(), prose),
})

/** What a service asks in the middle of a call, by the keys of the answers. */
export type CallQuestion = v.InferOutput<typeof callQuestion>

const proposedCall = v.object({
  /** As the model sees it. */
  name: prose,
  /** The key of the tool in the version. */
  tool: prose,
  description: prose,
  /** The JSON Schema of its arguments, or of the answers to its question. */
  parameters: json,
  /** What its service asks in the middle of the call, in place of whether it may be made. */
  question: v.optional(callQuestion),
})
/** The function that a model wants to call. */
export type ProposedCall = v.InferOutput<typeof proposedCall>

/** The fields of what a run asks a person. */
export const approvalRequest = {
  /** The key of the step that waits. */
  step: v.pipe(v.string(), v.regex(/^[\w.:-]{1,64}$/, 'must be a key of 1 to 64 characters')),
  task: prose,
  /** What the task would put out, or the arguments of the call, as JSON. */
  output: prose,
  /** The call of a tool that is asked about. */
  call: v.optional(proposedCall),
}
/** What a run asks a person. */
export type ApprovalRequest = v.InferOutput<v.ObjectSchema<typeof approvalRequest, undefined>>
