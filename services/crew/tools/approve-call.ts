import * as v from 'valibot'
import { DECISIONS } from '../../platform/approvals/approval-decisions.ts'
import { isAsked } from '../../platform/approvals/call-approval.ts'
import type { Approve } from '../../platform/approvals/call-approval.ts'
import { DECISION } from '../../platform/crew-contract/step-key.ts'
import { excerpt } from '../../platform/crew-contract/event-text.ts'
import { evaluate } from '../task/decide.ts'
import type { Steps } from '../steps.ts'
import { readCall } from './call-tool.ts'
import type { ApprovedCall, CrewTool, WantedCall, ToolArguments } from './tool.ts'

const INPUT_CHARACTERS_MAX = 2000

const decided = v.object({
  decision: v.picklist(DECISIONS),
  text: v.optional(v.string()),
  /** The arguments that the person was asked about, as JSON. */
  proposed: v.string(),
})
type Decided = v.InferOutput<typeof decided>

/** Creates what lets a person decide about the calls of a function, in one attempt at a run. */
export function createApproval(approve: Approve, inputs: ToolArguments): CrewTool['approve'] {
  let first: Promise<Decided> | undefined
  return async (steps, call) => {
    const { tool, arguments: given } = call
    const subject = `The condition of approve of the tool ${tool.key}`
    const holds = () => isAsked(approve, { arguments: given, inputs })
    if (!evaluate('condition_unusable', subject, holds)) return call
    if (approve !== 'once_per_run') return toApproved(call, await ask(steps, call, {}))
    // In each attempt the step is at the same place, whichever call is the first one there.
    const once = { path: [`tool:${tool.name}`, DECISION], request: { tool: tool.name } }
    first ??= ask(steps, call, once)
    const answered = await first
    const isAnother = answered.proposed !== JSON.stringify(given)
    return isAnother && answered.decision !== 'reject' ? call : toApproved(call, answered)
  }
}

/** Asks as a step of its own, which ends with the decision before that of the call begins. */
function ask(
  steps: Steps,
  { tool, task, path, arguments: given }: WantedCall,
  once: Partial<Pick<Parameters<Steps['perform']>[0], 'path' | 'request'>>,
): Promise<Decided> {
  const { name, key, description, parameters } = tool
  const output = JSON.stringify(given)
  return steps.perform(
    {
      kind: 'approval',
      path: [...path, DECISION],
      name,
      input: excerpt(output, INPUT_CHARACTERS_MAX),
      request: { tool: name, arguments: given },
      schema: decided,
      ...once,
    },
    async ({ step }) => {
      const asked = { name, tool: key, description, parameters }
      return steps.park({ type: 'approval_requested', step, task, output, call: asked })
    },
  )
}

/** The arguments are those that the person saw or wrote, whatever the model asks for by now. */
function toApproved({ tool }: WantedCall, { decision, text = '', proposed }: Decided) {
  if (decision === 'reject') {
    return { problem: `A person refused this call.${text === '' ? '' : ` Reason: ${text}`}` }
  }
  const approved = decision === 'edit' ? text : proposed
  return readCall([tool], { id: '', name: tool.name, arguments: approved }) satisfies ApprovedCall
}
