import { describe, expect, it } from 'vitest'
import {
  AGENTS_YAML,
  TASKS_YAML,
  agentJson,
  crewJson,
  importFiles,
  importJson,
  told,
} from './project.ts'

const YAML = { 'config/agents.yaml': AGENTS_YAML, 'config/tasks.yaml': TASKS_YAML }

describe('a project of crew.jsonc and agents/*.jsonc', () => {
  it('becomes a definition, comments and trailing commas and all', () => {
    const imported = importFiles({
      'crew.jsonc': `{
        // The "crew" /* itself
        "name": "Research",
        "agents": ["researcher", "writer",],
        "tasks": [
          /* first , ] */
          {"name": "research", "description": "Research {topic}. // kept", "agent": "researcher",
           "expected_output": "A list"},
          {"name": "report", "description": "Write \\"it\\".", "expected_output": "Two pages",
           "agent": "writer"},
        ],
        "inputs": {"topic": "tides"},
      }`,
      'agents/researcher.jsonc': agentJson({ role: '{topic} Researcher' }),
      'agents/writer.json': agentJson({ llm: 'openai/gpt-4o-mini', max_iter: 3 }),
    })
    expect(imported).toEqual({
      definition: {
        name: 'Research',
        llm: { model: 'gpt-4o' },
        inputs: [{ name: 'topic', default: 'tides' }],
        agents: [
          { key: 'researcher', role: '{topic} Researcher', goal: 'Write', backstory: 'Clear.' },
          {
            key: 'writer',
            role: 'Writer',
            goal: 'Write',
            backstory: 'Clear.',
            llm: { model: 'gpt-4o-mini' },
            max_iterations: 3,
          },
        ],
        tasks: [
          {
            key: 'research',
            description: 'Research {topic}. // kept',
            expected_output: 'A list',
            agent: 'researcher',
          },
          {
            key: 'report',
            description: 'Write "it".',
            expected_output: 'Two pages',
            agent: 'writer',
          },
        ],
      },
      problems: [],
    })
  })

  it('lets settings of an agent replace what is beside them', () => {
    const { definition } = importJson({ agent: { max_iter: 3, settings: { max_iter: 5 } } })
    expect(definition?.agents[0]?.max_iterations).toBe(5)
  })

  it('is found in the folder of an archive, and prefers .jsonc', () => {
    const imported = importFiles({
      'reports-main/crew.json': '{}',
      'reports-main/crew.jsonc': crewJson(),
      'reports-main/agents/writer.jsonc': agentJson(),
    })
    expect(imported.definition?.name).toBe('Reports')
    expect(told(imported, 'note')).toEqual([
      'reports-main/crew.json: This file is not read: reports-main/crew.jsonc takes precedence.',
    ])
  })

  it('names a model by what its provider calls it, and says which connection it needs', () => {
    const imported = importJson({
      agent: {
        llm: {
          model: 'anthropic/claude-sonnet-4-6',
          temperature: 0.2,
          max_tokens: 99,
          reasoning_effort: 'low',
        },
      },
    })
    expect(imported.definition?.llm).toEqual({
      model: 'claude-sonnet-4-6',
      temperature: 0.2,
      max_tokens: 99,
      reasoning_effort: 'low',
    })
    expect(told(imported, 'note')).toEqual([
      'agents/writer.jsonc: llm: The model claude-sonnet-4-6 is one of anthropic. Runs need an ' +
        'LLM connection for it, with that provider.',
    ])
    const nested = importJson({ agent: { llm: 'openrouter/deepseek/deepseek-r1' } })
    expect(nested.definition?.llm.model).toBe('deepseek/deepseek-r1')
    const effort = importJson({ agent: { llm: { model: 'gpt-5.6', reasoning_effort: 'most' } } })
    expect(told(effort, 'refused')[0]).toContain('must be one of none, minimal')
    const unknown = importJson({ agent: { llm: 'my-org/model' } })
    expect(unknown.definition?.llm.model).toBe('my-org/model')
  })

  it('says of a conditional task how its condition is written', () => {
    const condition = { python: 'project.is_short' }
    const imported = importJson({ task: { type: 'ConditionalTask', condition } })
    expect(imported.definition).toBeDefined()
    expect(told(imported, 'left_out').join('\n')).toMatch(
      /tasks\[0\].condition: .* Write it as when of the task, .* @.outputs.find.words < 100/,
    )
  })

  it('never stores or repeats a key of a model or of a server', () => {
    const imported = importJson({
      agent: {
        llm: { model: 'gpt-4o', api_key: 'sk-secret', base_url: 'https://models.example.com' },
        mcps: [
          'https://mcp.example.com/mcp?key=sk-secret#search',
          {
            url: 'https://tools.example.com/mcp',
            headers: { Authorization: 'Bearer sk-secret' },
            tool_filter: { type: 'static', allowed_tool_names: ['find'] },
          },
        ],
      },
    })
    expect(JSON.stringify(imported)).not.toContain('sk-secret')
    expect(told(imported, 'left_out').map((line) => line.split(': ')[1])).toEqual([
      'mcps[0]',
      'mcps[1].headers',
      'llm.api_key',
      'llm.base_url',
    ])
  })

  it('makes tools of MCP servers whose tools are named', () => {
    const imported = importJson({
      agent: {
        mcps: [
          'https://api.weather.example/mcp#current',
          'https://api.weather.example/mcp#forecast',
          'https://mcp.other.example/mcp',
          'notion',
          { command: 'npx', args: ['server'] },
        ],
      },
    })
    expect(imported.definition?.tools).toEqual({
      weather_example: {
        type: 'mcp',
        url: 'https://api.weather.example/mcp',
        tools: ['current', 'forecast'],
      },
    })
    expect(imported.definition?.agents[0]?.tools).toEqual(['weather_example'])
    expect(told(imported, 'left_out')).toEqual([
      expect.stringMatching(/mcps\[2\]: Which tools of this MCP server/),
      expect.stringMatching(/mcps\[3\]: This is a server of the CrewAI platform/),
      expect.stringMatching(/mcps\[4\]: An MCP server that is a local program/),
    ])
  })

  it('says of each tool of Python what to use instead', () => {
    const imported = importJson({
      agent: { tools: ['SerperDevTool', 'crewai_tools:ScrapeWebsiteTool', 'custom:mine'] },
      task: { tools: ['platform:gmail/send', { tool_type: 'x' }] },
    })
    expect(told(imported, 'left_out')).toEqual([
      expect.stringMatching(/writer.jsonc: tools\[0\]: The tool SerperDevTool .*type mcp/),
      expect.stringMatching(/writer.jsonc: tools\[1\]: The tool ScrapeWebsiteTool .*type fetch/),
      expect.stringMatching(/writer.jsonc: tools\[2\]: The tool custom:mine .*crew-contract/),
      expect.stringMatching(/crew.jsonc: tasks\[0\].tools\[0\]: The tool platform:gmail/),
      expect.stringMatching(/crew.jsonc: tasks\[0\].tools\[1\]: The tool of this entry/),
    ])
  })

  it('drops nothing in silence', () => {
    const imported = importJson({
      crew: { memory: true, verbose: true, before_kickoff_callbacks: [{ python: 'a.b' }] },
      agent: { reasoning: true, bacstory: 'x', planning: false, cache: true },
      task: { callback: { python: 'a.c' }, output_pydantic: { python: 'a.D' } },
    })
    expect(told(imported, 'left_out')).toEqual([
      expect.stringMatching(/^crew.jsonc: memory: Memory is not kept/),
      expect.stringMatching(/^crew.jsonc: before_kickoff_callbacks: .*crew of its own/),
      expect.stringMatching(/^agents\/writer.jsonc: reasoning: Agents do not plan/),
      'agents/writer.jsonc: bacstory: The key bacstory is not known. Did you mean backstory?',
      expect.stringMatching(/^crew.jsonc: tasks\[0\].callback: Python code is not imported/),
      expect.stringMatching(/^crew.jsonc: tasks\[0\].output_pydantic: .*output_schema/),
    ])
    expect(told(imported, 'note')).toEqual([
      expect.stringMatching(/^crew.jsonc: verbose: The platform logs/),
      expect.stringMatching(/^agents\/writer.jsonc: cache: Results of tools/),
    ])
    expect(imported.definition).toBeDefined()
  })

  it('takes over a manager, and whom agents may ask', () => {
    const hierarchical = importJson({
      crew: { process: 'hierarchical', manager_llm: 'openai/gpt-4o' },
      task: { agent: undefined },
    })
    expect(hierarchical.definition).toMatchObject({
      process: 'hierarchical',
      manager_llm: { model: 'gpt-4o' },
      tasks: [expect.not.objectContaining({ agent: expect.anything() })],
    })
    const own = importFiles({
      'crew.jsonc': crewJson({ process: 'hierarchical', manager_agent: 'boss' }),
      'agents/writer.jsonc': agentJson({ allow_delegation: true }),
      'agents/boss.jsonc': agentJson({ role: 'Boss' }),
    })
    expect(own.definition).toMatchObject({
      manager_agent: 'boss',
      agents: [{ key: 'writer', allow_delegation: true }, { key: 'boss' }],
    })
    const without = importJson({ crew: { process: 'hierarchical' } })
    expect(told(without, 'refused')[0]).toMatch(/process: .* needs manager_llm or manager_agent/)
  })

  it('makes checks of guardrails that are texts, and a schema of one that is JSON', () => {
    const { definition, problems } = importJson({
      task: {
        guardrails: ['Names a source.', 'Is short.'],
        guardrail_max_retries: 20,
        output_json: { type: 'object' },
        output_file: 'out/report.md',
        async_execution: true,
      },
    })
    expect(definition?.tasks[0]).toMatchObject({
      guardrails: [
        { type: 'llm', instruction: 'Names a source.' },
        { type: 'llm', instruction: 'Is short.' },
      ],
      guardrail_max_retries: 10,
      output_schema: { type: 'object' },
      output_file: 'out/report.md',
      async: true,
    })
    expect(problems.map(({ key, level }) => [key, level])).toEqual([
      ['tasks[0].guardrail_max_retries', 'note'],
      ['tasks[0].output_file', 'note'],
    ])
  })

  it.each([
    ['a missing agent', { crew: { agents: ['writer', 'riter'] } }, /agents\[1\]: There is no file/],
    [
      'an agent elsewhere',
      { crew: { agents: ['../writer'] } },
      /agents\[0\]: An agent is named by/,
    ],
    ['an agent within', { crew: { agents: [{ role: 'x' }] } }, /agents\[0\]: An agent is named by/],
    ['an unknown agent', { task: { agent: 'riter' } }, /tasks\[0\].agent: .*Did you mean writer\?/],
    ['no agent', { task: { agent: null } }, /tasks\[0\].agent: The task report names no agent/],
    ['no tasks', { crew: { tasks: [] } }, /crew.jsonc: tasks: must not be empty/],
    ['a text that is none', { agent: { role: 7 } }, /role: This must be a text; it is a number/],
    ['a missing text', { agent: { goal: '' } }, /goal: writer needs a text for goal/],
    ['a class of its own', { agent: { type: { python: 'a.B' } } }, /type: Python code is not/],
    ['a task of its own', { task: { type: 'MyTask' } }, /tasks\[0\].type: A class other/],
    ['a repository', { agent: { from_repository: 'x' } }, /from_repository: The agent is in/],
    ['an unknown process', { crew: { process: 'consensual' } }, /process: The process consensual/],
    ['a placeholder', { task: { description: 'On {my-topic}' } }, /such as to \{my_topic\}/],
    ['a wrong flag', { task: { human_input: 'yes' } }, /human_input: This must be true or false/],
    ['a wrong list', { agent: { tools: 'SerperDevTool' } }, /tools: This must be a list/],
  ])('is refused for %s, by file and key', (_, parts, message) => {
    const imported = importJson(parts)
    expect(imported.definition).toBeUndefined()
    expect(told(imported, 'refused').join('\n')).toMatch(message)
  })
})

describe('a project of agents.yaml and tasks.yaml', () => {
  it('becomes a definition in the order of tasks.yaml, and says so', () => {
    const imported = importFiles(YAML)
    expect(imported.definition?.agents.map(({ key, role }) => [key, role])).toEqual([
      ['researcher', '{topic} Researcher'],
      ['writer', 'Writer'],
    ])
    expect(imported.definition?.tasks.map(({ key }) => key)).toEqual(['research', 'report'])
    expect(told(imported, 'note')).toEqual([
      expect.stringMatching(/^config\/tasks.yaml: .*Tasks run in the order of this file/),
      expect.stringMatching(/^config\/tasks.yaml: These agents name no model: researcher, writer/),
      'config/tasks.yaml: Runs need values for these inputs: topic.',
    ])
  })

  it('gives names with other letters a key that is allowed', () => {
    const imported = importFiles({
      'agents.yaml': 'Forscher für Öl:\n  role: R\n  goal: G\n  backstory: B\n',
      'tasks.yaml':
        '研究:\n  description: 調べる\n  expected_output: 一覧\n  agent: Forscher für Öl\n',
    })
    expect(imported.definition?.agents[0]?.key).toBe('Forscher_fur_Ol')
    expect(imported.definition?.tasks[0]).toMatchObject({ key: 'k_', description: '調べる' })
    expect(told(imported, 'note')).toContain(
      'agents.yaml: Forscher für Öl: A key holds letters, digits, _ and -, so Forscher für Öl ' +
        'becomes Forscher_fur_Ol.',
    )
  })

  it('follows anchors and merge keys, as CrewAI does', () => {
    const imported = importFiles({
      'agents.yaml': 'a: &a\n  role: R\n  goal: G\n  backstory: B\nb:\n  <<: *a\n  role: S\n',
      'tasks.yaml': 't:\n  description: D\n  expected_output: E\n  agent: b\n',
    })
    expect(imported.definition?.agents[1]).toMatchObject({ key: 'b', role: 'S', goal: 'G' })
  })

  it('refuses several crews, and flows', () => {
    const several = importFiles({ 'a/tasks.yaml': TASKS_YAML, 'b/tasks.yaml': TASKS_YAML })
    expect(told(several, 'refused')[0]).toMatch(/^b\/tasks.yaml: This is more than one crew/)
    const flow = importFiles({ ...YAML, 'pyproject.toml': '[tool.crewai]\ntype = "flow"\n' })
    expect(told(flow, 'refused')[0]).toMatch(/^pyproject.toml: tool.crewai.type: A flow has no/)
  })

  it('says what it looked for when there is no project', () => {
    expect(told(importFiles({ 'README.md': 'x' }), 'refused')).toEqual([
      expect.stringMatching(/^This is no CrewAI project: it has neither crew.jsonc nor/),
    ])
  })

  it('notes the files that it does not read', () => {
    const imported = importFiles({
      ...YAML,
      '.env': 'OPENAI_API_KEY=sk-secret',
      'knowledge/facts.txt': 'x',
      'src/tools/mine.py': 'x',
      'src/main.py': 'x',
      'README.md': 'x',
    })
    const noted = told(imported, 'note').map((line) => line.split(': ')[0])
    expect(noted.filter((file) => !file?.startsWith('config/'))).toEqual([
      '.env',
      'knowledge/facts.txt',
      'src/tools/mine.py',
      'src/main.py',
    ])
    expect(JSON.stringify(imported)).not.toContain('sk-secret')
  })
})
