const AGENT = `
from crewai import Agent, Crew, Process, Task
from crewai.project import CrewBase, agent, crew, task
from crewai.tools import tool
from pydantic import BaseModel

class Report(BaseModel):
    title: str
    points: int

@tool("count_letters")
def count_letters(text: str) -> str:
    """Counts the letters of a text."""
    with open("calls.txt", "a") as log:
        log.write(text + "\\n")
    return f"{len(text)} letters"

@CrewBase
class Letters:
    agents_config = "agents.yaml"
    tasks_config = "tasks.yaml"

    @agent
    def counter(self) -> Agent:
        return Agent(config=self.agents_config["counter"], tools=[count_letters])

    @agent
    def writer(self) -> Agent:
        return Agent(config=self.agents_config["writer"])

    @agent
    def listener(self) -> Agent:
        return Agent(config=self.agents_config["listener"])

    @task
    def count(self) -> Task:
        return Task(config=self.tasks_config["count"])

    @task
    def colours(self) -> Task:
        return Task(config=self.tasks_config["colours"], async_execution=True)

    @task
    def sounds(self) -> Task:
        return Task(config=self.tasks_config["sounds"], async_execution=True)

    @task
    def report(self) -> Task:
        return Task(
            config=self.tasks_config["report"],
            output_pydantic=Report,
            output_file="report.json",
            context=[self.count(), self.colours(), self.sounds()],
        )

    @crew
    def crew(self) -> Crew:
        return Crew(agents=self.agents, tasks=self.tasks, process=Process.sequential)
`
const AGENTS = `
counter:
  role: "{topic} counter"
  goal: Count
  backstory: You count.
  llm: openai/gpt-5
writer:
  role: Writer
  goal: Write
  backstory: You write.
  llm: anthropic/claude-sonnet-4-5
listener:
  role: Listener
  goal: Listen
  backstory: You listen.
  llm: gpt-5
`
const taskOf = (name: string, agent: string, description: string): string =>
  `${name}:\n  description: ${description}\n  expected_output: Words\n  agent: ${agent}\n`

/** Tools, tasks beside each other, an output with a class, a file, models of two providers. */
export const LETTERS = {
  'pyproject.toml': '[project]\nname = "letters"\nversion = "0"\n[tool.crewai]\ntype = "crew"\n',
  'src/letters/__init__.py': '',
  'src/letters/crew.py': AGENT,
  'src/letters/agents.yaml': AGENTS,
  'src/letters/tasks.yaml': [
    taskOf('count', 'counter', 'Count the letters of {topic}'),
    taskOf('colours', 'writer', 'Name the colours of {topic}'),
    taskOf('sounds', 'listener', 'Name the sounds of {topic}'),
    taskOf('report', 'writer', 'Write the report on {topic}'),
  ].join(''),
}

/** A crew whose only task asks a person. */
export const ASKING = {
  'src/asking/__init__.py': '',
  'src/asking/crew.py': `
from crewai import Agent, Crew, Task
from crewai.project import CrewBase, agent, crew, task

@CrewBase
class Asking:
    @agent
    def writer(self) -> Agent:
        return Agent(role="Writer", goal="Write", backstory="You write.", llm="gpt-5")

    @task
    def letter(self) -> Task:
        return Task(
            description="Write a letter", expected_output="Words", agent=self.writer(),
            human_input=True,
        )

    @crew
    def crew(self) -> Crew:
        return Crew(agents=self.agents, tasks=self.tasks)
`,
}

/** A project in JSON, as CrewAI 1.15 makes it. */
export const IN_JSON = {
  'crew.jsonc': `{
  // Comments are allowed.
  "name": "In JSON",
  "agents": ["writer"],
  "tasks": [
    {
      "name": "poem", "description": "Write on {topic}", "expected_output": "Words",
      "agent": "writer",
    },
  ],
  "inputs": {"topic": "bees"},
}`,
  'agents/writer.jsonc':
    '{"role": "Writer", "goal": "Write", "backstory": "You write.", "llm": "openai/gpt-5"}',
}
