import { describe, expect, it } from 'vitest'
import { AGENTS_YAML, TASKS_YAML, importFiles, told } from './project.ts'

const method = (kind: string, name: string, body: string): string =>
  `    @${kind}\n    def ${name}(self):\n        """${name} ("quoted") # text"""\n        ${body}\n`

const program = (...methods: readonly string[]): string =>
  `from crewai import Agent, Crew, Process, Task\n\n@CrewBase\nclass Reports():\n` +
  `    """A crew: with 'quotes'"""\n    agents: list[BaseAgent]\n${methods.join('\n')}`

const AGENTS = [
  method('agent', 'researcher', `return Agent(config=self.agents_config['researcher'])`),
  method('agent', 'writer', `return Agent(config=self.agents_config["writer"], max_iter=4)`),
]
const CREW = method(
  'crew',
  'crew',
  'return Crew(agents=self.agents, tasks=self.tasks, process=Process.sequential)',
)
const TASKS = [
  method('task', 'report', `return Task(config=self.tasks_config['report'])`),
  method('task', 'research', `return Task(config=self.tasks_config['research'])`),
]

const importProgram = (text: string) =>
  importFiles({
    'src/reports/crew.py': text,
    'src/reports/config/agents.yaml': AGENTS_YAML,
    'src/reports/config/tasks.yaml': TASKS_YAML,
  })

describe('the class with @CrewBase', () => {
  it('decides the order of the tasks, the name, and what its arguments say', () => {
    const { definition, problems } = importProgram(program(...AGENTS, ...TASKS, CREW))
    expect(definition?.name).toBe('Reports')
    expect(definition?.tasks.map(({ key }) => key)).toEqual(['report', 'research'])
    expect(definition?.agents[1]?.max_iterations).toBe(4)
    expect(problems.filter(({ level }) => level !== 'note')).toEqual([])
  })

  it.each([
    ['on one line', (body: string) => body],
    ['with a docstring before it', (body: string) => `"""Text: (a"""; ${body};  # done`],
  ])('is read where a method is %s', (_, write) => {
    const short = (kind: string, name: string, body: string): string =>
      `    @${kind}\n    def ${name}(self, n: int = {'a': 1}['a']) -> "X": ${write(body)}\n`
    const { definition, problems } = importProgram(
      program(
        short('agent', 'researcher', `return Agent(config=self.agents_config['researcher'])`),
        short('agent', 'writer', `return Agent(config=self.agents_config["writer"], max_iter=4)`),
        ...TASKS,
        CREW,
      ),
    )
    expect(definition?.agents[1]?.max_iterations).toBe(4)
    expect(problems.filter(({ level }) => level !== 'note')).toEqual([])
  })

  it('leaves out a method on one line that does more', () => {
    const busy = `    @agent\n    def writer(self): self.n = 1; return Agent(config={})\n`
    const { problems } = importProgram(program(AGENTS[0] ?? '', busy, ...TASKS, CREW))
    const message = expect.stringMatching(/^Only a method that returns Agent/)
    expect(problems).toContainEqual(expect.objectContaining({ key: 'writer', message }))
  })

  it('may list its tasks in another order', () => {
    const crew = method(
      'crew',
      'crew',
      'return Crew(agents=self.agents, tasks=[self.research(), self.report()])',
    )
    const { definition } = importProgram(program(...AGENTS, ...TASKS, crew))
    expect(definition?.tasks.map(({ key }) => key)).toEqual(['research', 'report'])
  })

  it('names parts by its methods, not by the entries of the files', () => {
    const { definition } = importProgram(
      program(
        method('agent', 'finder', `return Agent(config=self.agents_config['researcher'])`),
        method(
          'task',
          'find',
          `return Task(description='Find ' \\\n          'it', expected_output=("a\\nb"),\n` +
            `            agent=self.finder(),  # a comment, with a comma\n        )`,
        ),
        CREW,
      ),
    )
    expect(definition?.agents.map(({ key }) => key)).toEqual(['finder'])
    expect(definition?.tasks).toEqual([
      { key: 'find', description: 'Find it', expected_output: 'a\nb', agent: 'finder' },
    ])
  })

  it('reads models that are made in it', () => {
    const { definition } = importProgram(
      program(
        method('llm', 'small', `return LLM(model='openai/gpt-4o-mini', temperature=0.5)`),
        method(
          'agent',
          'researcher',
          `return Agent(config=self.agents_config['researcher'], llm=self.small())`,
        ),
        method(
          'agent',
          'writer',
          `return Agent(config=self.agents_config['writer'], llm=LLM('groq/llama'))`,
        ),
        ...TASKS,
        CREW,
      ),
    )
    expect(definition?.llm).toEqual({ model: 'gpt-4o-mini', temperature: 0.5 })
    expect(definition?.agents[1]?.llm).toEqual({ model: 'llama' })
  })

  it('lists what is code', () => {
    const imported = importProgram(
      program(
        method('before_kickoff', 'prepare', `return inputs`),
        method(
          'agent',
          'researcher',
          `return Agent(config=self.agents_config['researcher'], tools=[SerperDevTool(n=3), mine])`,
        ),
        method(
          'agent',
          'writer',
          `x = 1\n        return Agent(config=self.agents_config['writer'])`,
        ),
        method(
          'task',
          'research',
          `return Task(config=self.tasks_config['research'], guardrail=check,\n` +
            '            callback=lambda x: x)',
        ),
        method(
          'task',
          'report',
          `return Task(config=self.tasks_config['report'], output_pydantic=Report)`,
        ),
        CREW,
      ),
    )
    expect(told(imported, 'left_out').map((line) => line.split(': ').slice(0, 3))).toEqual([
      ['src/reports/crew.py', 'writer', expect.stringMatching(/^Only a method that returns Agent/)],
      ['src/reports/crew.py', 'prepare', expect.stringMatching(/^Python code is not imported/)],
      [
        'src/reports/crew.py',
        'researcher.tools[0]',
        expect.stringMatching(/^The tool SerperDevTool is Python code/),
      ],
      [
        'src/reports/crew.py',
        'researcher.tools[1]',
        expect.stringMatching(/^The tool mine is Python code/),
      ],
      ['src/reports/crew.py', 'research.callback', expect.stringMatching(/^Python code is not/)],
      ['src/reports/crew.py', 'research.guardrail', expect.stringMatching(/^Python code is not/)],
      ['src/reports/crew.py', 'report.output_pydantic', expect.stringMatching(/^Python code is/)],
    ])
    expect(imported.definition?.agents[1]?.role).toBe('Writer')
  })

  it('notes entries that no method uses, and refuses methods without their entry', () => {
    const unused = importProgram(program(...AGENTS, TASKS[0] ?? '', CREW))
    expect(told(unused, 'note')).toContain(
      'src/reports/config/tasks.yaml: research: No method of src/reports/crew.py uses this ' +
        'entry, so it is not imported.',
    )
    const missing = method('task', 'reprot', `return Task(config=self.tasks_config['reprot'])`)
    const refused = importProgram(program(...AGENTS, missing, CREW))
    expect(told(refused, 'refused')[0]).toBe(
      'src/reports/crew.py: reprot: There is no entry reprot. Did you mean report?',
    )
  })

  it('refuses a program whose string does not end', () => {
    const imported = importProgram(`@CrewBase\nclass A:\n    x = "abc\n`)
    expect(told(imported, 'refused')).toEqual([
      'src/reports/crew.py: This is not valid Python: the string in line 3 has no end.',
    ])
  })
})
