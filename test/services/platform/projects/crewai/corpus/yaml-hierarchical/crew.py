from crewai import Agent, Crew, Process, Task
from crewai.project import CrewBase, agent, crew, task


@CrewBase
class Led:
    """Led crew"""

    agents_config = "config/agents.yaml"
    tasks_config = "config/tasks.yaml"

    @agent
    def collector(self) -> Agent:
        return Agent(config=self.agents_config["collector"])  # type: ignore[index]

    @agent
    def writer(self) -> Agent:
        return Agent(config=self.agents_config["writer"])  # type: ignore[index]

    @task
    def collect(self) -> Task:
        return Task(config=self.tasks_config["collect"])  # type: ignore[index]

    @task
    def tell(self) -> Task:
        return Task(config=self.tasks_config["tell"])  # type: ignore[index]

    @crew
    def crew(self) -> Crew:
        """Creates the crew"""
        return Crew(
            agents=self.agents,
            tasks=self.tasks,
            process=Process.hierarchical,
            manager_llm="openai/gpt-4o",
        )
