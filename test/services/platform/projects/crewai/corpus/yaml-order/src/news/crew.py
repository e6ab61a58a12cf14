from crewai import Agent, Crew, Process, Task
from crewai.project import CrewBase, agent, crew, task


@CrewBase
class News:
    """News crew"""

    agents_config = "config/agents.yaml"
    tasks_config = "config/tasks.yaml"

    @agent
    def editor(self) -> Agent:
        return Agent(config=self.agents_config["editor"])  # type: ignore[index]

    @agent
    def researcher(self) -> Agent:
        return Agent(config=self.agents_config["researcher"])  # type: ignore[index]

    @task
    def research(self) -> Task:
        return Task(config=self.tasks_config["research"])  # type: ignore[index]

    @task
    def write(self) -> Task:
        return Task(config=self.tasks_config["write"])  # type: ignore[index]

    @task
    def publish(self) -> Task:
        return Task(config=self.tasks_config["publish"])  # type: ignore[index]

    @crew
    def crew(self) -> Crew:
        """Creates the crew"""
        return Crew(
            agents=self.agents,
            tasks=self.tasks,
            process=Process.sequential,
        )
