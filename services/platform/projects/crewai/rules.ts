import type { Rule } from './fields.ts'

const LOGGING: Rule = { note: 'The platform logs and traces each run itself.' }
const RETRIES: Rule = {
  note: 'The platform retries steps itself, and continues after the last finished one.',
}
const CACHE: Rule = { note: 'Results of tools are not cached between calls.' }
const SECURITY: Rule = { note: 'Fingerprints are not kept; runs and versions have ids.' }
const CHECKPOINT: Rule = { note: 'Each step of a run is recorded, without a setting.' }
const FAILURES: Rule = { note: 'The model reads it when a tool fails.' }
const MEMORY: Rule = {
  leftOut: 'Memory is not kept between tasks or runs. Give what matters as context or as an input.',
}
const KNOWLEDGE: Rule = {
  leftOut: 'Knowledge is given to agents as text: there are no embeddings to configure.',
}
const PLANNING: Rule = {
  leftOut: 'Agents do not plan before a task. Add a task that plans, as context of the others.',
}
const SKILLS: Rule = { leftOut: 'Skills are not loaded. Put what they say into the backstory.' }
const OWN_CREW: Rule = {
  leftOut: 'This has no equivalent. It needs a crew of its own: see docs/crew-contract.md.',
}
const TEMPLATES: Rule = { leftOut: 'The runtime writes its prompts itself.' }
const RATE: Rule = { note: 'The number of runs at a time is a setting of the automation.' }
const FUNCTION_MODEL: Rule = {
  leftOut: 'The model of the agent chooses the calls of tools itself.',
}
const TRIGGER: Rule = {
  leftOut: 'Triggers do not exist. Declare an input, and name it in the description.',
}
const CONDITION: Rule = {
  code:
    'The condition is Python code. Write it as when of the task, over the output that it looks ' +
    'at: @.outputs.find.words < 100, or @.outputs.find.json.events with an output_schema.',
}
const IN_CODE = 'taken' as const

/** What becomes of the keys of an agent. */
export const AGENT_RULES: Readonly<Record<string, Rule>> = {
  role: IN_CODE,
  goal: IN_CODE,
  backstory: IN_CODE,
  llm: IN_CODE,
  tools: IN_CODE,
  mcps: IN_CODE,
  max_iter: IN_CODE,
  max_tokens: IN_CODE,
  allow_delegation: IN_CODE,
  knowledge_sources: IN_CODE,
  type: IN_CODE,
  from_repository: IN_CODE,
  entity_type: IN_CODE,
  name: { note: 'An agent is known by the name of its file or entry.' },
  verbose: LOGGING,
  cache: CACHE,
  cache_handler: CACHE,
  max_rpm: RATE,
  max_retry_limit: RETRIES,
  respect_context_window: { note: 'Conversations are not shortened.' },
  use_better_compaction: { note: 'Results of tools are cut at 32,768 characters.' },
  tool_failure_policy: FAILURES,
  security_config: SECURITY,
  checkpoint: CHECKPOINT,
  date_format: { note: 'Agents know the date by the tool time.' },
  inject_date: { leftOut: 'Give the agent a tool of the type time.' },
  memory: MEMORY,
  embedder: KNOWLEDGE,
  knowledge: KNOWLEDGE,
  knowledge_config: KNOWLEDGE,
  knowledge_storage: KNOWLEDGE,
  agent_knowledge_context: KNOWLEDGE,
  crew_knowledge_context: KNOWLEDGE,
  knowledge_search_query: KNOWLEDGE,
  planning: PLANNING,
  planning_config: PLANNING,
  reasoning: PLANNING,
  max_reasoning_attempts: PLANNING,
  skills: SKILLS,
  guardrail: { leftOut: 'An agent has no guardrail. Give it to the tasks of the agent.' },
  guardrail_max_retries: { note: 'This belongs to the guardrail of a task.' },
  function_calling_llm: FUNCTION_MODEL,
  system_template: TEMPLATES,
  prompt_template: TEMPLATES,
  response_template: TEMPLATES,
  use_system_prompt: { note: 'The agent is described in a system message.' },
  max_execution_time: { leftOut: 'Give timeout_seconds to the tasks of the agent.' },
  multimodal: OWN_CREW,
  allow_code_execution: OWN_CREW,
  code_execution_mode: { note: 'Agents run no code.' },
  apps: {
    leftOut:
      'Apps of the CrewAI platform are not there. Name their MCP servers or OpenAPI documents as ' +
      'tools: see docs/tools.md.',
  },
  a2a: OWN_CREW,
  callbacks: OWN_CREW,
  step_callback: OWN_CREW,
  executor_class: OWN_CREW,
  agent_executor: OWN_CREW,
  i18n: TEMPLATES,
  config: OWN_CREW,
}

/** What becomes of the keys of a task. */
export const TASK_RULES: Readonly<Record<string, Rule>> = {
  name: IN_CODE,
  description: IN_CODE,
  expected_output: IN_CODE,
  agent: IN_CODE,
  context: IN_CODE,
  async_execution: IN_CODE,
  human_input: IN_CODE,
  output_file: IN_CODE,
  markdown: IN_CODE,
  output_json: IN_CODE,
  output_pydantic: IN_CODE,
  response_model: IN_CODE,
  guardrail: IN_CODE,
  guardrails: IN_CODE,
  guardrail_max_retries: IN_CODE,
  max_retries: IN_CODE,
  tools: IN_CODE,
  type: IN_CODE,
  create_directory: { note: 'The file is kept with the run, in no folder.' },
  tool_failure_policy: FAILURES,
  security_config: SECURITY,
  input_files: {
    leftOut: 'A task has no files. Declare an input for what the file holds, and name it.',
  },
  allow_crewai_trigger_context: TRIGGER,
  prompt_context: { note: 'The context of a task is what its context names.' },
  condition: CONDITION,
  callback: OWN_CREW,
  callbacks: OWN_CREW,
  converter_cls: OWN_CREW,
  config: OWN_CREW,
}

/** What becomes of the other keys of a crew. */
export const CREW_RULES: Readonly<Record<string, Rule>> = {
  process: IN_CODE,
  manager_llm: IN_CODE,
  manager_agent: IN_CODE,
  inputs: IN_CODE,
  knowledge_sources: IN_CODE,
  entity_type: IN_CODE,
  verbose: LOGGING,
  tracing: LOGGING,
  output_log_file: LOGGING,
  share_crew: LOGGING,
  cache: CACHE,
  max_rpm: RATE,
  stream: { note: 'Events of a run are streamed by the automation API.' },
  security_config: SECURITY,
  checkpoint: CHECKPOINT,
  tool_failure_policy: FAILURES,
  chat_llm: { note: 'A crew is not chatted with.' },
  memory: MEMORY,
  embedder: KNOWLEDGE,
  knowledge: KNOWLEDGE,
  planning: PLANNING,
  planning_llm: PLANNING,
  skills: SKILLS,
  prompt_file: TEMPLATES,
  trained_agents_file: TEMPLATES,
  function_calling_llm: FUNCTION_MODEL,
  before_kickoff_callbacks: OWN_CREW,
  after_kickoff_callbacks: OWN_CREW,
  step_callback: OWN_CREW,
  task_callback: OWN_CREW,
  config: OWN_CREW,
}
