from crewai import Agent, Crew, Process, Task
from crewai.project import CrewBase, agent, crew, task


@CrewBase
class Report:
    """Report crew"""

    agents_config = "config/agents.yaml"
    tasks_config = "config/tasks.yaml"

    @agent
    def analyst(self) -> Agent:
        return Agent(config=self.agents_config["analyst"])  # type: ignore[index]

    @agent
    def writer(self) -> Agent:
        return Agent(config=self.agents_config["writer"])  # type: ignore[index]

    @task
    def prices(self) -> Task:
        return Task(config=self.tasks_config["prices"])  # type: ignore[index]

    @task
    def demand(self) -> Task:
        return Task(config=self.tasks_config["demand"])  # type: ignore[index]

    @task
    def supply(self) -> Task:
        return Task(config=self.tasks_config["supply"])  # type: ignore[index]

    @task
    def summary(self) -> Task:
        return Task(config=self.tasks_config["summary"])  # type: ignore[index]

    @task
    def title(self) -> Task:
        return Task(config=self.tasks_config["title"], context=[self.summary()])  # type: ignore[index]

    @crew
    def crew(self) -> Crew:
        """Creates the crew"""
        return Crew(
            agents=self.agents,
            tasks=self.tasks,
            process=Process.sequential,
        )
