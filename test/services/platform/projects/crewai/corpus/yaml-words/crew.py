from crewai import Agent, Crew, Process, Task
from crewai.project import CrewBase, agent, crew, task


@CrewBase
class Words:
    agents_config = "config/agents.yaml"
    tasks_config = "config/tasks.yaml"

    @agent
    def one(self) -> Agent:
        return Agent(config=self.agents_config["one"])

    @agent
    def asked(self) -> Agent:
        return Agent(config=self.agents_config["two"])

    @task
    def answer(self) -> Task:
        return Task(
            description="Answer with {not json} and {\"a\": 1} "
            'for {topic}.',
            expected_output="Answers",  # a comment, with (brackets
            agent=self.asked(),
        )

    @task
    def ask(self) -> Task:
        return Task(config=self.tasks_config["ask"])

    @crew
    def crew(self) -> Crew:
        return Crew(agents=self.agents, tasks=[self.ask(), self.answer()], process=Process.sequential)
