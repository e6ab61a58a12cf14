import { spawnSync } from 'node:child_process'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** What `python -m venv` made and `pip install crewai` filled; `CREWAI_PYTHON` is another one. */
export const PYTHON =
  process.env['CREWAI_PYTHON'] ?? join(homedir(), '.cache/crew-platform/crewai/bin/python')
/** Whether CrewAI is there. */
export const hasCrewai =
  spawnSync(PYTHON, ['-c', 'import crewai'], { timeout: 120_000 }).status === 0
if (!hasCrewai) {
  console.log(`crews of CrewAI are not replayed: there is no CrewAI for ${PYTHON} to import`)
}

/** A project of CrewAI, which `variant.json` beside it changes. */
export const CREWAI_PROJECT = {
  'pyproject.toml': '[project]\nname = "proof"\nversion = "0"\n[tool.crewai]\ntype = "crew"\n',
  'variant.json': '{}',
  'src/proof/__init__.py': '',
  'src/proof/crew.py': `
import datetime, json, os, random, urllib.request
from typing import Any
from crewai import LLM, Agent, Crew, Process, Task
from crewai.project import CrewBase, agent, crew, task
from crewai.tools import BaseTool
from pydantic import BaseModel, Field

VARIANT = json.load(open("variant.json"))

class Words(BaseModel):
    text: str = Field(description=VARIANT.get("schema", "What to look up"))

class Look(BaseTool):
    name: str = "look"
    description: str = "Looks a text up."
    args_schema: type[BaseModel] = Words
    tries: int = 0

    def _run(self, text: str) -> str:
        self.tries += 1
        with urllib.request.urlopen(os.environ["TOOL_URL"]) as page:
            found = page.read().decode()
        if VARIANT.get("fails") and self.tries == 1:
            raise ValueError("not yet")
        return found

class Count(BaseTool):
    name: str = "count"
    description: str = "Counts letters."
    args_schema: type[BaseModel] = Words

    def _run(self, text: str) -> str:
        return str(len(text))

def guard(output: Any) -> tuple[bool, Any]:
    return (True, output) if "better" in output.raw else (False, "Do it better")

def told(name: str) -> str:
    return str(eval(VARIANT[name])) if name in VARIANT else ""

@CrewBase
class Proof:
    agents_config: dict = {}
    tasks_config: dict = {}

    @agent
    def finder(self) -> Agent:
        tools = [Look(), Count()]
        llm = LLM("openai/gpt-5", temperature=VARIANT.get("temperature", 0.1))
        shown = tools[::-1] if VARIANT.get("reversed") else tools
        given = [] if VARIANT.get("process") else shown
        return Agent(
            role="{topic} finder", goal="Find", backstory="You find.", llm=llm, tools=given
        )

    @agent
    def writer(self) -> Agent:
        return Agent(
            role="Writer", goal="Write", backstory="You write.", llm="anthropic/claude-sonnet-4-5"
        )

    @task
    def find(self) -> Task:
        return Task(
            name="find", description="Find facts on {topic}", expected_output="Facts",
            agent=self.finder(),
        )

    @task
    def write(self) -> Task:
        return Task(
            name="write", description="Write on {topic}" + told("last"), expected_output="Words",
            agent=self.writer(), guardrail=guard if VARIANT.get("guarded") else None,
            human_input=bool(VARIANT.get("asks")), output_file="text.md",
        )

    @crew
    def crew(self) -> Crew:
        if VARIANT.get("process"):
            return Crew(
                agents=self.agents, tasks=self.tasks, process=Process.hierarchical,
                manager_llm="gpt-5",
            )
        return Crew(agents=self.agents, tasks=self.tasks)
`,
}
