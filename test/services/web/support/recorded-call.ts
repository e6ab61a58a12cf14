import { recordRequest } from '../../../../services/platform/runs/run-contents.ts'
import type { StepRequest } from '../../../../services/platform/crew-contract/step-request.ts'
import type { Database } from '../../../../services/shared/postgres/database.ts'

/** The key of the step that `recordCall` writes. */
export const STEP = '0123456789abcdef0123456789abcdef'

interface Recorded {
  readonly runId: string
  readonly request: StepRequest
  readonly path?: readonly string[]
}

/** Writes a call of a model into the journal of a run, as workers do. */
export async function recordCall(
  sql: Database,
  { runId, request, path = ['research', 'researcher', 'llm', '0'] }: Recorded,
): Promise<void> {
  const { parts, address, sha256 } = recordRequest(request, new Set())
  for (const { address: at, previous, content } of parts) {
    await sql`
      insert into run_contents select content_day(id), organization_id, decode(${at}, 'hex'),
        decode(${previous ?? null}, 'hex'), decode(${content}, 'base64')
      from executions where id = ${runId} on conflict do nothing`
  }
  const result = { text: 'Five facts.', inputTokens: 100, outputTokens: 20, id: 'r-1' }
  await sql`
    insert into run_steps (run_id, step_key, position, kind, name, path, state, attempt,
      started_at, ended_at, usage, result, request_sha256, request)
    values (${runId}, ${STEP}, 0, 'llm', 'test-model', ${sql.json([...path])}, 'finished', 1,
      now() - interval '2 seconds', now(), ${sql.json({ input_tokens: 100, output_tokens: 20 })},
      ${sql.json(result)}, decode(${sha256}, 'hex'), decode(${address}, 'hex'))
    on conflict do nothing`
}
