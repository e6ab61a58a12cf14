import { fillIn } from '../../platform/definitions/crew-definition.ts'
import type { Agent } from '../../platform/definitions/crew-definition.ts'
import { DELEGATION_TOOLS } from '../../platform/definitions/crew-process.ts'
import { AppError } from '../../shared/errors.ts'
import { promptForCoworker } from '../prompts.ts'
import { openTalk } from '../run-agent.ts'
import { failureOf } from '../steps.ts'
import { answer } from '../tools/tool.ts'
import type { CrewTool, ToolAnswer, ToolCall } from '../tools/tool.ts'
import type { TaskDeps } from './task-deps.ts'

const [DELEGATE, ASK] = DELEGATION_TOOLS
const SHARE =
  'The coworker knows nothing of it: say all that is needed, and explain what you refer to.'

/** Creates the tools with which an agent gives parts of a task to coworkers. */
export function createDelegationTools(
  deps: TaskDeps,
  task: string,
  coworkers: readonly Agent[],
): CrewTool[] {
  if (coworkers.length === 0) return []
  const roles = coworkers.map(({ role }) => fillIn(role, deps.inputs)).join(', ')
  const create = (name: string, subject: string, description: string): CrewTool => ({
    name,
    key: name,
    type: 'delegation',
    description: `${description} one of these coworkers: ${roles}. ${SHARE}`,
    parameters: {
      type: 'object',
      properties: {
        [subject]: { type: 'string', description: `The ${subject}` },
        context: { type: 'string', description: `All that is needed for the ${subject}` },
        coworker: { type: 'string', description: 'The role of the coworker' },
      },
      required: [subject, 'context', 'coworker'],
    },
    timeoutMs: Infinity,
    hasSteps: true,
    call: (call) => askCoworker(deps, { task, coworkers, subject, call }),
  })
  return [
    create(DELEGATE, 'task', 'Gives a task to'),
    create(ASK, 'question', 'Asks a question of'),
  ]
}

interface Asked {
  readonly task: string
  readonly coworkers: readonly Agent[]
  readonly subject: string
  readonly call: ToolCall
}

async function askCoworker(deps: TaskDeps, asked: Asked): Promise<ToolAnswer> {
  const { definition, inputs, toolbox, steps, llmFor } = deps
  const { task, coworkers, subject, call } = asked
  const { coworker, context, [subject]: assignment } = call.arguments
  const agent = findCoworker(deps, coworkers, String(coworker))
  if (!agent) {
    const roles = coworkers.map(({ role }) => `- ${fillIn(role, inputs)}`).join('\n')
    return { text: `There is no such coworker. There are:\n${roles}`, isError: true }
  }
  const talk = openTalk({
    place: { task, agent: agent.key },
    path: [...call.path, agent.key],
    call: agent.llm ?? definition.llm,
    messages: promptForCoworker({
      agent,
      inputs,
      material: deps.material,
      assignment: String(assignment),
      context: String(context),
    }),
    llmFor,
    steps,
    toolbox,
    tools: toolbox.toolsFor(agent),
    maxIterations: agent.max_iterations,
  })
  try {
    return answer(await talk.ask())
  } catch (thrown) {
    return tellFailure(thrown)
  }
}

/** The failures of an agent, which whoever gave it the work can do something about. */
const AGENTS_OWN = ['max_iterations', 'invalid_tool_call']

/** Raises what is not for a model: an end of the run, and a model that cannot be called. */
function tellFailure(thrown: unknown): ToolAnswer {
  if (!(thrown instanceof AppError)) throw thrown
  const { code, message } = failureOf(thrown)
  if (!AGENTS_OWN.includes(code)) throw thrown
  return { text: `The coworker failed: ${message}`, isError: true }
}

/** Models write roles in other letters, in quotes, or several in a list. */
function findCoworker(
  { inputs }: TaskDeps,
  coworkers: readonly Agent[],
  named: string,
): Agent | undefined {
  const [wanted = ''] = named.replace(/^\[(.*)\]$/s, '$1').split(',')
  const isNamed = (name: string): boolean =>
    plain(name) === plain(wanted) || plain(name) === plain(named)
  return (
    coworkers.find(({ role }) => isNamed(fillIn(role, inputs))) ??
    coworkers.find(({ key }) => isNamed(key))
  )
}

const plain = (name: string): string =>
  name.replaceAll(/["']/g, '').trim().replaceAll(/\s+/g, ' ').toLowerCase()
