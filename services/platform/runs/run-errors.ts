/** What the code of a failed run means, and what to do about it. */
interface RunError {
  readonly meaning: string
  readonly remedy: string
}

/**
 * The codes that runs end with, by who finds the failure: pages, the description of the API and
 * `docs/run-errors.md` have them from here. Crews of other programs may bring codes of their own.
 */
export const RUN_ERRORS = {
  llm_rejected: {
    meaning: 'The provider of the model refused a call.',
    remedy:
      'With HTTP 401 or 403 enter the key of the LLM connection again, and test it; with 404 ' +
      'check its model and base URL; with 429 wait, or raise the quota at the provider.',
  },
  llm_unreachable: {
    meaning: 'No connection to the model came about, or it broke off.',
    remedy:
      'Test the LLM connection of the model. If the crew calls a model of its own, check its ' +
      'OPENAI_BASE_URL, and the egress of its pods.',
  },
  llm_timeout: {
    meaning: 'The model did not answer in time.',
    remedy: 'Let the task ask for less, choose a faster model, or raise LLM_TIMEOUT_SECONDS.',
  },
  llm_invalid_response: {
    meaning: 'The model answered with something that is no answer of an OpenAI-compatible API.',
    remedy:
      'Check that the base URL ends with the version path, such as /v1, and choose the API of ' +
      'the LLM connection.',
  },
  llm_address_refused: {
    meaning: 'The LLM connection leads to a private address.',
    remedy: 'The operator lists its origin in LLM_PRIVATE_ORIGINS (outgoing.llmPrivateOrigins).',
  },
  llm_connection_unusable: {
    meaning: 'The LLM connection of the model lacks a key or an address.',
    remedy: 'Enter what the message names on the page of the LLM connection, and test it.',
  },
  max_iterations: {
    meaning: 'An agent called tools up to its limit, and gave no answer.',
    remedy: 'A smaller task, another model, or a higher max_iterations of the agent.',
  },
  invalid_tool_call: {
    meaning: 'A model called tools wrongly again and again.',
    remedy: 'Another model, or tools with simpler arguments.',
  },
  tool_not_pinned: {
    meaning: 'A tool has no schemas: it was not read when the version was published.',
    remedy: 'Publish a new version.',
  },
  invalid_output: {
    meaning: 'The model answered twice without JSON that the output_schema of its task allows.',
    remedy: 'Another model, or a simpler schema; the message names the problems.',
  },
  guardrail_failed: {
    meaning: 'An agent did not get its output past a guardrail.',
    remedy:
      'A clearer task, a message in the guardrail, or a higher guardrail_max_retries of the task.',
  },
  guardrail_unusable: {
    meaning: 'A condition took too long, or the model of a guardrail answered neither way.',
    remedy: 'A simpler condition, or another model for it.',
  },
  task_timeout: {
    meaning: 'A task, or an item of its list, took longer than its timeout_seconds.',
    remedy: 'A higher timeout_seconds, a smaller task, a faster model, or retry.',
  },
  condition_unusable: {
    meaning: 'The condition of a task or of the approval of a tool took too long.',
    remedy: 'A simpler condition in when.',
  },
  list_unusable: {
    meaning: 'There is no list at the path of for_each, or it is too long.',
    remedy:
      'Look at the input or the output that the message names; output_schema makes it a list.',
  },
  approval_rejected: {
    meaning: 'A person rejected the output of a task, or did not decide in time.',
    remedy: 'Change the inputs or the task as the message says, and run it again.',
  },
  approval_unsupported: {
    meaning: 'A task waits for a person, and the crew or its worker cannot wait.',
    remedy: 'Update the crew to a version of its runtime that keeps a journal.',
  },
  result_too_large: {
    meaning: 'A step gave more than can be kept.',
    remedy: 'Let its tool or its task return less.',
  },
  connection_missing: {
    meaning: 'A tool needs a connection that the organization does not have.',
    remedy: 'Create and connect it under Connections, and run it again.',
  },
  connection_not_connected: {
    meaning: 'A connection of a tool has not been connected, or no longer is.',
    remedy: 'Connect it under Connections, and run it again.',
  },
  connection_unavailable: {
    meaning: 'The provider of a connection, or the OAuth service, did not answer.',
    remedy: 'Test the connection under Connections, and run it again once it answers.',
  },
  connection_unusable: {
    meaning: 'The provider of a connection gives no token.',
    remedy: 'Test the connection under Connections: the test says what to change.',
  },
  connection_not_for_address: {
    meaning: 'A tool would send the token of a connection to a host that is not in its list.',
    remedy: 'Add the host to the connection, or correct the address of the tool.',
  },
  region_not_allowed: {
    meaning:
      'A model or a tool is outside of the regions in which the organization keeps its data.',
    remedy:
      'Give its connection an allowed region, publish a version without it, or let an admin ' +
      'change the rule.',
  },
  crew_failed: {
    meaning: 'The Python code of a crew raised an exception.',
    remedy: 'Its last line says what went wrong; the log of the deployment has the rest.',
  },
  crew_not_deployed: {
    meaning: 'The automation has no crew: it was not deployed, or it is stopped.',
    remedy: 'Look at the page Deploy of the automation, and start or deploy it.',
  },
  crew_unreachable: {
    meaning: 'The crew did not answer, however often it was asked.',
    remedy: 'Look at the state of the automation and at the log of its crew, then run it again.',
  },
  crew_rejected: {
    meaning: 'The crew refused the run.',
    remedy: 'The message has its reason; update the crew, or publish another version.',
  },
  crew_lost: {
    meaning: 'The crew broke off in the middle of the run, three times in a row.',
    remedy: 'Look at the log of the crew; memory is the usual reason.',
  },
  crew_replaced: {
    meaning: 'The crew was replaced in the middle of the run, again and again.',
    remedy: 'Run it again once the crew is left alone.',
  },
  document_unreadable: {
    meaning: 'A PDF or an office document of the inputs cannot be read as text.',
    remedy:
      'Do what the message says: remove its password, save it in a newer format, send a part of ' +
      'it, or send the text of a scan.',
  },
  crew_without_files: {
    meaning: 'The crew takes no files.',
    remedy: 'Update it, or use inputs of another type.',
  },
  crew_without_journal: {
    meaning: 'The crew cannot continue after steps that have finished.',
    remedy: 'Replace it by one with the capability journal, or start a new run.',
  },
  journal_too_long: {
    meaning: 'The inputs and the results of the finished steps are longer than a crew takes.',
    remedy: 'Let tasks and tools return less, and run it again.',
  },
  budget_exceeded: {
    meaning: 'Calls in flight left no room in a budget, again and again.',
    remedy: 'Raise the limit under Budgets, or wait for the next day or month, and run it again.',
  },
  execution_timeout: {
    meaning: 'The run took longer than a run may.',
    remedy: 'Split it into smaller runs, or raise EXECUTION_TIMEOUT_SECONDS of the worker.',
  },
  worker_lost: {
    meaning: 'Three workers were lost while they performed the run.',
    remedy: 'Look at the log of the workers, then run it again; memory is the usual reason.',
  },
  worker_draining: {
    meaning: 'The worker was stopped in the middle of the run, again and again.',
    remedy: 'Run it again once the workers are left alone.',
  },
  handed_over: {
    meaning: 'The run was handed over again and again, and no step of it finished.',
    remedy: 'Run it again once the workers and the crew are left alone.',
  },
  internal: {
    meaning: 'The worker or the crew failed in a way that was not foreseen.',
    remedy: 'Look at its log by the kickoff id; a run of its own shows whether it happens again.',
  },
} as const satisfies Readonly<Record<string, RunError>>

/** A code that the platform or its runtimes end runs with. */
export type RunErrorCode = keyof typeof RUN_ERRORS

/** A failure with one of these codes. */
export interface RunFailure {
  readonly code: RunErrorCode
  readonly message: string
}
