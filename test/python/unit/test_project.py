"""What is found in a project's folder."""

import pathlib
import tempfile
import unittest

from crew_runtime.project import ProjectError, find_entrypoint

CREW = "from crewai.project import CrewBase\n\n@CrewBase\nclass {}:\n    pass\n"
FLOW = "from crewai.flow import Flow\n\nclass {}(Flow[dict]):\n    pass\n"


class FindEntrypoint(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def find(self, files, named=""):
        project = pathlib.Path(self.folder.name)
        for path, content in files.items():
            (project / path).parent.mkdir(parents=True, exist_ok=True)
            (project / path).write_text(content)
        return str(find_entrypoint(project, named))

    def test_finds_what_crewai_makes(self):
        cases = [
            ({"src/a/crew.py": CREW.format("Research")}, "a.crew:Research"),
            ({"research.py": CREW.format("Research")}, "research:Research"),
            ({"crew.jsonc": "{}"}, "crew.jsonc"),
        ]
        for files, expected in cases:
            with self.subTest(expected):
                self.assertEqual(self.find(files), expected)
                for path in files:
                    (pathlib.Path(self.folder.name) / path).unlink()

    def test_takes_the_flow_of_a_project_whose_crews_are_parts_of_it(self):
        files = {
            "src/a/main.py": FLOW.format("Post"),
            "src/a/crews/one/one.py": CREW.format("One"),
            "src/a/crews/two/two.py": CREW.format("Two"),
            "src/a/tests/crew.py": CREW.format("Third"),
        }
        self.assertEqual(self.find(files), "a.main:Post")

    def test_takes_what_is_named(self):
        files = {"pyproject.toml": '[tool.crew-runtime]\nentrypoint = "a.b:run"\n'}
        self.assertEqual(self.find(files), "a.b:run")
        self.assertEqual(self.find(files, "other:Crew.make"), "other:Crew.make")

    def test_says_why_nothing_can_be_run(self):
        cases = [
            ({"readme.md": ""}, "", "The project has no crew: neither a crew.jsonc"),
            ({}, "my crew", 'The entrypoint "my crew" is not of the form module:name'),
            ({}, "a:b:c", 'The entrypoint "a:b:c" is not of the form'),
            ({"a.py": "# CrewBase\ndef (:"}, "", "a.py, line 2 is not valid Python: invalid syntax"),
            ({"a.py": CREW.format("A"), "b.py": CREW.format("B")}, "", "2 crews: a:A, b:B. Say"),
        ]
        for files, named, words in cases:
            with self.subTest(words), self.assertRaises(ProjectError) as raised:
                self.find(files, named)
            self.assertIn(words, str(raised.exception))

    def test_says_that_there_is_no_folder(self):
        with self.assertRaises(ProjectError) as raised:
            find_entrypoint(pathlib.Path(self.folder.name) / "missing")
        self.assertIn("There is no folder", str(raised.exception))


if __name__ == "__main__":
    unittest.main()
