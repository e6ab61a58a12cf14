import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The version of CrewAI that makes the project, and that it asks for. */
export const CREWAI = '1.15.30'
/** The public package that the tool needs. */
export const SLUGIFY = 'python-slugify'

const TOOL = `
from crewai.tools import BaseTool
from slugify import slugify

class SlugTool(BaseTool):
    name: str = "make_slug"
    description: str = "Makes the slug of a text."

    def _run(self, text: str) -> str:
        return "slug:" + slugify(text)
`
const PACKAGE = `
[project]
name = "acme-slugs"
version = "1.0.0"
dependencies = ["${SLUGIFY}>=8"]
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
# twine refuses the newest one.
[tool.hatch.build.targets.wheel]
core-metadata-version = "2.4"
`

/** Runs commands in the folder of the project and returns what they print. */
export type RunThere = (commands: string) => Promise<string>

/** Builds the package of a company's tool with uv; the wheel is in `dist`. */
export async function buildToolPackage(folder: string, run: RunThere): Promise<void> {
  await mkdir(join(folder, 'acme/acme_slugs'), { recursive: true })
  await writeFile(join(folder, 'acme/pyproject.toml'), PACKAGE)
  await writeFile(join(folder, 'acme/acme_slugs/__init__.py'), TOOL)
  await run('uv build --quiet --wheel --out-dir dist acme')
}

/** Makes a project as CrewAI makes it in `demo`, and lets its researcher use the tool. */
export async function createCrewaiProject(folder: string, run: RunThere): Promise<void> {
  await run(
    `uvx --quiet --from crewai-cli==${CREWAI} crewai create crew demo --skip_provider --classic ` +
      '< /dev/null',
  )
  const change = async (path: string, ...changes: [RegExp, string][]): Promise<void> => {
    const file = join(folder, 'demo', path)
    const text = await readFile(file, 'utf8')
    await writeFile(
      file,
      changes.reduce((all, [from, to]) => all.replace(from, to), text),
    )
  }
  await change('pyproject.toml', [/("crewai\[tools\][^"]*")/, '$1, "acme-slugs"'])
  await change(
    'src/demo/crew.py',
    [/^from crewai import/m, 'from acme_slugs import SlugTool\nfrom crewai import'],
    [/(agents_config\['researcher'\],.*\n)/, "$1            tools=[SlugTool()], llm='gpt-4o',\n"],
    [/(agents_config\['reporting_analyst'\],.*\n)/, "$1            llm='gpt-4o',\n"],
  )
}
