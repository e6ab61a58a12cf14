import { afterEach, describe, expect, it } from 'vitest'
import { startAdapter, whyNoPython, writeProject } from './adapter.ts'
import { few } from '../support/long.ts'

const whyNot = whyNoPython()

const stops: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

interface Broken {
  readonly files?: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string>>
  readonly args?: readonly string[]
}

const main = (program: string): Broken => ({
  files: { 'main.py': program },
  env: { CREW_ENTRYPOINT: 'main:run' },
})
const CREW = 'from crewai.project import CrewBase\n@CrewBase\nclass A:\n  pass\n'

describe.skipIf(whyNot !== undefined)('a project that cannot be run', () => {
  const projects: readonly [string, Broken, string | RegExp][] = [
    ['has nothing to run', { files: { 'a.py': 'x = 1' } }, 'The project has no crew: neither'],
    ['imports what is not there', main('import no_such_thing'), 'imports no_such_thing, which is'],
    ['is not valid Python', main('def run(:\n'), /main\.py, line 1 is not valid Python: inv/],
    [
      'raises when it is imported',
      main('1 / 0'),
      'cannot be imported: ZeroDivisionError: division',
    ],
    [
      'ends the program',
      main('import sys; sys.exit(3)'),
      'ends the program while it is imported: ',
    ],
    ['ends it at once', main('import os; os._exit(4)'), 'ended with exit code 4. An import'],
    ['lacks the function', main('def start(inputs): pass'), 'main has no run; it has: start.'],
    ['names something else', main('run = 1'), 'main:run is of the type int: name a function'],
    ['takes nothing', main('def run(): pass'), 'main:run takes 0 arguments. A function'],
    ['has a class of its own', main('class run: pass'), 'neither @CrewBase nor a method kickoff'],
    [
      'needs CrewAI',
      { files: { 'src/a/crew.py': CREW } },
      'imports crewai, which is not installed',
    ],
    ['has a crew in JSON without CrewAI', { files: { 'crew.jsonc': '{}' } }, 'needs CrewAI 1.15'],
    ['has two crews', { files: { 'a.py': CREW, 'b.py': CREW } }, 'has 2 crews: a:A, b:A. Say'],
    ['is not there', { env: { CREW_PROJECT: '/nowhere' } }, 'There is no folder /nowhere.'],
  ]
  it.each(few(projects, 4))(
    '%s: the last line says why, and it ends with 1',
    async (_, { files, env, args }, words) => {
      const project = await writeProject(files ?? {})
      const adapter = await startAdapter({ args, env: { CREW_PROJECT: project, ...env } })
      expect(await adapter.ended).toBe(1)
      expect(adapter.log().trim().split('\n').at(-1)).toMatch(words)
    },
  )

  const settings: readonly [string, Broken, string][] = [
    ['no token', { env: { CREW_TOKEN: '' } }, 'CREW_TOKEN is not set'],
    ['a port that is none', { env: { PORT: 'http' } }, 'PORT is "http"; a number from 0 to 65535'],
    ['no concurrency', { env: { CREW_CONCURRENCY: '0' } }, 'CREW_CONCURRENCY is "0"; a number'],
    ['an unknown option', { args: ['--fast'] }, 'unrecognized arguments: --fast'],
  ]
  it.each(few(settings, 1))(
    'is not looked at with %s, and it ends with 2',
    async (_, { env, args }, words) => {
      const adapter = await startAdapter({ args, env })
      expect(await adapter.ended).toBe(2)
      expect(adapter.log()).toContain(words)
    },
  )

  it('is shown by --check, which starts nothing', async () => {
    const project = await writeProject({ 'main.py': 'def run(inputs): return ""' })
    const good = { CREW_PROJECT: project, CREW_ENTRYPOINT: 'main:run', CREW_TOKEN: '' }
    const checked = await startAdapter({ args: ['--check'], env: good })
    expect(await checked.ended).toBe(0)
    expect(checked.output()).toMatch(/^crew: project-\w+ \(main:run\)\ninputs: none\n$/)
    const bad = { ...good, CREW_ENTRYPOINT: 'other:run' }
    const refused = await startAdapter({ args: ['--check'], env: bad })
    expect(await refused.ended).toBe(1)
    expect(refused.log()).toContain('The project imports other, which is not installed')
  })

  it('answers 503 as long as it is imported, and takes the import along when it ends', async () => {
    const project = await writeProject({
      'main.py':
        'import os, pathlib, time\n' +
        'print("imported by", os.getpid(), flush=True)\n' +
        'while not pathlib.Path("go").exists(): time.sleep(0.02)\n' +
        'def run(inputs): return ""\n',
    })
    const env = { CREW_PROJECT: project, CREW_ENTRYPOINT: 'main:run' }
    const adapter = await startAdapter({ env })
    stops.push(() => adapter.stop())
    const health = async () => {
      const response = await fetch(`${adapter.url}/health`).catch(() => undefined)
      return response && { status: response.status, body: await response.json() }
    }
    await expect.poll(health).toEqual({
      status: 503,
      body: { status: 503, code: 'unavailable', message: 'The project is being imported.' },
    })
    expect((await fetch(`${adapter.url}/describe`)).status).toBe(503)
    const importer = () => Number(/imported by (\d+)/.exec(adapter.log())?.[1])
    await expect.poll(importer).toBeGreaterThan(0)
    await adapter.stop()
    const isThere = (): boolean => {
      try {
        return process.kill(importer(), 0)
      } catch {
        return false
      }
    }
    await expect.poll(isThere).toBe(false)
  })
})
