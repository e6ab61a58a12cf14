/** This platform's own worker: the trace of a run with one task and two calls of a model. */
import type { LlmCallEvent } from '../../../../../../services/platform/crew-contract/crew-protocol.ts'
import type { LeasedRun } from '../../../../../../services/platform/runs/run-queue.ts'
import { createTracing } from '../../../../../../services/worker/run/run-trace.ts'
import { createLog } from '../../../../../../services/shared/log.ts'
import { createSpanSender } from '../../../../../../services/shared/tracing/span-sender.ts'

const ID = '00000000-0000-4000-8000-000000000001'
const AUTOMATION = '00000000-0000-4000-8000-000000000002'

const run: LeasedRun = {
  id: ID,
  leaseId: '00000000-0000-4000-8000-000000000003',
  attempt: 1,
  lostAttempts: 0,
  inputs: { city: 'Paris' },
  queuedAt: new Date(Date.UTC(2026, 0, 1)),
  automationId: AUTOMATION,
  deploymentId: 1,
  projectVersionId: 1,
  mayHaveSteps: false,
  automationName: 'weather',
  slug: 'weather',
  organizationId: 1,
  url: null,
  crewAutomationId: AUTOMATION,
  definition: {
    name: 'Weather',
    llm: { model: 'gpt-5-mini' },
    agents: [{ key: 'meteorologist', role: 'Meteorologist', goal: 'Know the weather' }],
    tasks: [
      {
        key: 'warmth',
        agent: 'meteorologist',
        description: 'How warm is it in {city}?',
        expected_output: 'One sentence',
      },
    ],
  },
}

/** The moment so many seconds after the run began. */
const at = (seconds: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, seconds)).toISOString()

const call: LlmCallEvent = {
  type: 'llm_call',
  task: 'warmth',
  agent: 'meteorologist',
  request_model: 'gpt-5-mini',
  provider: 'openai',
  server_address: '127.0.0.1',
  server_port: 4319,
  messages_in: [
    { role: 'system', content: 'You are a weather assistant.' },
    { role: 'user', content: 'How warm is it in Paris?' },
  ],
  messages_out: [{ role: 'assistant', content: 'It is 18 degrees and sunny in Paris.' }],
  started_at: at(2),
  ended_at: at(3),
  attempts: 1,
  response_model: 'gpt-5-mini-2025-04-14',
  response_id: 'chatcmpl-1',
  finish_reason: 'stop',
  input_tokens: 120,
  output_tokens: 40,
}
const output = 'It is 18 degrees and sunny in Paris.'
const task = { task: 'warmth', agent: 'meteorologist' }

const sender = createSpanSender({
  service: 'worker',
  collectorUrl: process.env.MODEL_SERVER ?? '',
  secret: 'none'.repeat(8),
  version: '1.0.0',
  log: createLog({ name: 'corpus', level: 'error' }),
})
const tracing = createTracing(sender)
const trace = tracing.startRun(run)
trace.event({ type: 'crew_started', at: at(0), crew: 'Weather' })
trace.event({
  type: 'task_started',
  at: at(1),
  ...task,
  agent_role: 'Meteorologist',
  description: 'How warm is it in Paris?',
})
trace.event(call)
trace.event({
  ...call,
  started_at: at(4),
  ended_at: at(5),
  messages_out: [],
  finish_reason: undefined,
  response_model: undefined,
  response_id: undefined,
  input_tokens: undefined,
  output_tokens: undefined,
  attempts: 3,
  error: { code: 'model_unavailable', message: 'The model answered 503' },
})
trace.event({ type: 'task_completed', at: at(6), ...task, output })
const usage = { input_tokens: 120, output_tokens: 40 }
trace.event({ type: 'crew_completed', at: at(7), output, usage })
trace.end({ isOver: true })
await tracing.stop()
