from crewai import Agent, Crew, Process, Task
from crewai.project import CrewBase, agent, crew, task


@CrewBase
class Trip:
    """Trip crew"""

    agents_config = "config/agents.yaml"
    tasks_config = "config/tasks.yaml"

    @agent
    def scout(self) -> Agent:
        return Agent(config=self.agents_config["scout"])  # type: ignore[index]

    @agent
    def planner(self) -> Agent:
        return Agent(config=self.agents_config["planner"])  # type: ignore[index]

    @task
    def hotels(self) -> Task:
        return Task(config=self.tasks_config["hotels"])  # type: ignore[index]

    @task
    def trains(self) -> Task:
        return Task(config=self.tasks_config["trains"])  # type: ignore[index]

    @task
    def plan(self) -> Task:
        return Task(config=self.tasks_config["plan"], context=[self.trains(), self.hotels()])  # type: ignore[index]

    @crew
    def crew(self) -> Crew:
        """Creates the crew"""
        return Crew(
            agents=self.agents,
            tasks=self.tasks,
            process=Process.sequential,
        )
