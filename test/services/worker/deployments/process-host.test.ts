import { spawnSync } from 'node:child_process'
import { mkdtemp, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { crewToken } from '../../../../services/shared/crew-token.ts'
import type { CrewHost, WantedCrew } from '../../../../services/worker/deployments/crew-host.ts'
import { createProcessHost } from '../../../../services/worker/deployments/process/process-host.ts'
import type { ProcessHostDeps } from '../../../../services/worker/deployments/process/process-host.ts'
import { whyNoPython } from '../../../python/adapter.ts'
import { startHttpServer } from '../../../support/http-server.ts'
import { SECRET } from '../../web/support/platform.ts'
import { makeWheel, uploadForm } from '../../web/support/wheels.ts'
import type { Wheel } from '../../web/support/wheels.ts'
import { openCrewPlatform, silent } from './crew-platform.ts'
import { plainProject, shouter, wantedCrew } from './crew-projects.ts'
import type { Project } from './crew-projects.ts'
import { few, isLong } from '../../../support/long.ts'

const whyNot = whyNoPython()
if (whyNot !== undefined) console.log(`Crews as processes are not tested: ${whyNot}.`)

const PATIENCE = { timeout: 120_000 }
const never = new AbortController().signal

let platform: Awaited<ReturnType<typeof openCrewPlatform>>
const hosts: CrewHost[] = []

beforeAll(async () => {
  platform = await openCrewPlatform()
})
afterEach(async () => {
  await Promise.all(hosts.splice(0).map((host) => host.stop()))
})
afterAll(() => platform.close())

/** A host that nobody stops. */
function makeHost(deps: Partial<ProcessHostDeps> = {}): CrewHost {
  const { root, webUrl: toolsUrl, machine } = platform
  const own = { root, toolsUrl, machine, log: silent, secretKeyBase: SECRET }
  return createProcessHost({ ...own, platformVersion: '1.13.0', ...deps })
}

function openHost(deps: Partial<ProcessHostDeps> = {}): CrewHost {
  const host = makeHost(deps)
  hosts.push(host)
  return host
}

/** Brings up a crew, and returns how that ended with all that was told. */
async function bringUp(host: CrewHost, crew: WantedCrew, signal = never) {
  let told = ''
  const progress = {
    state: (state: string) => void (told += `${state}\n`),
    log: (stream: string, text: string) => void (told += text.replace(/^/gm, `${stream}: `)),
  }
  const outcome = await host.bringUp(crew, progress, signal)
  return { outcome, told: () => told }
}

const progress = { state: () => {}, log: () => {} }
const ask = (url: string, path = '/inputs') =>
  fetch(`${url}${path}`).then((answer) => answer.json())

/** An index of packages as PyPI is one. */
const startIndex = (wheels: readonly Wheel[]) =>
  startHttpServer(({ url = '' }, response) => {
    const page = wheels.find(({ name }) => url === `/simple/${name}/`)
    const file = wheels.find(({ filename }) => url === `/files/${filename}`)
    response.setHeader('content-type', page ? 'text/html' : 'application/octet-stream')
    if (page) response.end(`<a href="/files/${page.filename}">${page.filename}</a>`)
    else if (file) response.end(file.content)
    else response.writeHead(404).end()
  })

/** A PATH with Python, and without uv; or one whose Python has no pip, either. */
async function pathWithoutUv({ pip = true } = {}): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'path-'))
  const say = 'import shutil, sys; print(sys.executable, shutil.which("nice"), sep="\\n")'
  const { stdout } = spawnSync('python3', ['-c', say], { encoding: 'utf8' })
  const [python = '', nice = ''] = stdout.split('\n')
  const refusing = `#!/bin/sh\n[ "$1 $2" = '-m pip' ] && exit 1\nexec ${python} "$@"\n`
  if (pip) await symlink(python, join(folder, 'python3'))
  else await writeFile(join(folder, 'python3'), refusing, { mode: 0o755 })
  await symlink(nice, join(folder, 'nice'))
  return folder
}

/** The programs that run for some crews, where the system tells. */
async function programsOf(crews: readonly WantedCrew[]): Promise<string[]> {
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name))
  const read = (pid: string, file: string): Promise<string> =>
    readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')
  const folders = crews.map(({ owner }) => `/automation-${owner.deploymentId}/deployment-`)
  const found = await Promise.all(
    pids.map(async (pid) => {
      const environment = await read(pid, 'environ')
      const isOurs = environment.includes(platform.root)
      return isOurs && folders.some((folder) => environment.includes(folder)) ? pid : ''
    }),
  )
  return Promise.all(found.filter(Boolean).map((pid) => read(pid, 'cmdline')))
}

function online(outcome: Awaited<ReturnType<CrewHost['bringUp']>>): string {
  if (outcome.outcome === 'online') return outcome.url
  throw new Error(`${outcome.reason}\n${outcome.lastLines}`)
}

describe.skipIf(whyNot !== undefined)('crews as processes', { timeout: 180_000 }, () => {
  /** A crew that is online while others are tried; it has a folder of its own. */
  const good = { root: '', url: '', told: () => '' }
  let host: CrewHost
  let crew: WantedCrew
  beforeAll(async () => {
    good.root = join(platform.root, 'good')
    host = makeHost({ root: good.root })
    const program = [
      'import os, sys',
      'print("knows", *sorted(os.environ), flush=True)',
      'print("greets with", os.environ["GREETING"], flush=True)',
      shouter('Hello'),
    ].join('\n')
    const variables = { GREETING: 'joy', PATH: '/nowhere', CREW_TOKEN: 'of their own' }
    crew = wantedCrew(plainProject(program), { variables })
    const { outcome, told } = await bringUp(host, crew)
    Object.assign(good, { url: online(outcome), told })
  }, 180_000)
  afterAll(() => host.stop())

  it('run with their own variables and nothing else of this machine', async () => {
    const { url, told } = good
    expect(await ask(url)).toEqual({ inputs: ['topic'] })
    expect(await host.look(crew, progress, never)).toEqual({ condition: 'online', url })
    const names = /^crew: .*knows (.*)$/m.exec(told())?.[1]?.split(' ') ?? []
    const ours = ['CREW_DRAIN_SECONDS', 'HOME', 'HOST', 'LANG', 'OTEL_SERVICE_NAME']
    expect(names).toEqual(
      expect.arrayContaining([...ours, 'GREETING', 'PATH', 'PORT', 'TMPDIR', 'VIRTUAL_ENV']),
    )
    expect(names.filter((name) => /SECRET|DATABASE|PROXY|VITEST|NODE/i.test(name))).toEqual([])
    expect(told()).toMatch(/^crew: .*greets with joy$/m)
    expect(told()).not.toContain(crewToken(SECRET, crew.owner.automationId))
    expect(told()).toMatch(/^Building\nbuild: /)
  })

  it.runIf(isLong)(
    'start again when they end, and new ones take the places of old ones',
    async () => {
      const host = openHost()
      const crew = wantedCrew(plainProject(shouter('Hello')))
      const url = online((await bringUp(host, crew)).outcome)
      const own = join(platform.root, `automation-${crew.owner.deploymentId}`)
      const findPid = async (): Promise<unknown> => {
        const [folder = ''] = await readdir(own)
        return JSON.parse(await readFile(join(own, folder, 'process.json'), 'utf8')).pid
      }
      const pid = Number(await findPid())
      process.kill(pid, 'SIGKILL')
      await expect.poll(findPid, PATIENCE).not.toBe(pid)
      const look = () => host.look(crew, progress, never)
      await expect.poll(look, PATIENCE).toEqual({ condition: 'online', url })
      const restarted = { ...crew, restartedAt: new Date(), url }
      expect(await host.look(restarted, progress, never)).toMatchObject({
        condition: 'drifted',
        isServing: true,
      })
      const next = online((await bringUp(host, restarted)).outcome)
      expect(next).not.toBe(url)
      await expect.poll(() => ask(url).catch(() => 'gone'), PATIENCE).toBe('gone')
      expect(await host.look(restarted, progress, never)).toEqual({
        condition: 'online',
        url: next,
      })
    },
  )

  it.runIf(isLong)('are ended by the next platform when the last one was killed', async () => {
    const killed = makeHost()
    const crew = wantedCrew(plainProject(shouter('Hello')))
    const url = online((await bringUp(killed, crew)).outcome)
    const host = openHost()
    await bringUp(host, wantedCrew({ 'requirements.txt': 'no such thing!' }))
    await expect(ask(url)).rejects.toThrow('fetch failed')
    await killed.stop()
  })

  it('take a name of the organization from nowhere else', async () => {
    const { organizationId } = platform.acme
    const own = makeWheel('acme-tool', '1.0')
    const headers = { authorization: `Bearer ${await platform.issueToken(platform.acme)}` }
    const sent = { method: 'POST', body: uploadForm(own), headers }
    expect((await fetch(`${platform.webUrl}/tools/organization/`, sent)).status).toBe(200)
    const stranger = makeWheel('acme-tool', '9.9')
    const other = makeWheel('other-tool', '2.0')
    const elsewhere = await startIndex([stranger, other])
    try {
      const program =
        'import acme_tool, other_tool\n' +
        `print("has", acme_tool.VERSION, other_tool.VERSION, flush=True)\n${shouter('Hello')}`
      const project = plainProject(program, ['acme-tool', 'other-tool'])
      const machine: Record<string, string> = {
        ...platform.machine,
        UV_DEFAULT_INDEX: `${elsewhere.url}/simple`,
      }
      // pip takes its time; what it is given is tested with the index that it asks.
      const machines = [machine]
      if (process.env['CREWS']) machines.push({ ...machine, PATH: await pathWithoutUv() })
      for (const each of machines) {
        const host = openHost({ machine: each })
        const crew = wantedCrew(project)
        const owner = { ...crew.owner, organizationId }
        const { outcome, told } = await bringUp(host, { ...crew, owner })
        online(outcome)
        expect(told()).toMatch(/^crew: .*has 1\.0 2\.0$/m)
      }
    } finally {
      await elsewhere.stop()
    }
  })

  it.runIf(isLong)('get a pip of their own where the Python of the machine has none', async () => {
    const machine = { ...platform.machine, PATH: await pathWithoutUv({ pip: false }) }
    const { outcome, told } = await bringUp(
      openHost({ machine }),
      wantedCrew(plainProject(shouter('Hello'))),
    )
    expect(await ask(online(outcome))).toEqual({ inputs: ['topic'] })
    expect(told()).toContain('The making of its pip')
  })

  interface Broken {
    readonly project: Project
    readonly says: RegExp
    readonly wanted?: Partial<WantedCrew>
    /** It never takes a run, and never ends. */
    readonly isLate?: boolean
  }

  const broken: Record<string, Broken> = {
    'has a syntax error': {
      project: plainProject('def run(inputs:\n'),
      says: /check of its sources[^]*\nshouter\.py, line 1 is not valid Python: .*deploy again\./,
    },
    'has a syntax error and a dependency that does not exist': {
      project: plainProject('def run(inputs:\n', ['surely-no-such-package>=1']),
      says: /shouter\.py, line 1 is not valid Python/,
    },
    'names a dependency that does not exist': {
      project: plainProject(shouter('Hello'), ['surely-no-such-package>=1']),
      says: /installation of its dependencies ended[^]*deploy again[^]*surely-no-such-package/,
    },
    'imports what it does not name': {
      project: plainProject(`import surely_no_such_module\n${shouter('Hello')}`),
      says: /Correct the project, and deploy again[^]*surely_no_such_module/,
    },
    'imports for ever': {
      project: plainProject(`import time\nprint("waits", flush=True)\ntime.sleep(3600)\n`),
      says: /It took no runs within 8 s of its start[^]*deploy again/,
      isLate: true,
    },
    'listens on a port of its own instead': {
      project: plainProject(
        'from http.server import *\n' +
          'HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler).serve_forever()\n',
      ),
      says: /It took no runs within 8 s[^]*leaves the port to the platform/,
      isLate: true,
    },
    'writes where it may not': {
      project: plainProject(
        'import os\nos.write(os.open("/proc/version", os.O_WRONLY), b"mine")\n',
      ),
      says: /Correct the project[^]*(Permission|not permitted|Read-only|OSError|Input\/output)/,
    },
    'needs more memory than it may have': {
      project: plainProject('data = bytearray(4 * 1024 ** 3)\n'),
      says: /It may use at most 256Mi of memory: raise the limit[^]*MemoryError/,
      wanted: { settings: { ...wantedCrew({}).settings, memoryLimit: '256Mi' } },
    },
  }

  it('fail with their last lines and what to do, and disturb nobody else', async () => {
    const impatient = openHost({ startMs: 8000, root: join(platform.root, 'impatient') })
    const crews: WantedCrew[] = []
    const tries = few(Object.entries(broken), 2).map(
      async ([name, { project, wanted, says, isLate }]) => {
        const own = isLate ? impatient : host
        const bad = wantedCrew(project, wanted)
        crews.push(bad)
        const { outcome } = await bringUp(own, bad)
        if (outcome.outcome !== 'failed') throw new Error(`A crew that ${name} is online`)
        expect(`${outcome.reason}\n${outcome.lastLines}`, name).toMatch(says)
        expect((await own.look(bad, progress, never)).condition, name).toBe('drifted')
      },
    )
    await Promise.all(tries)
    const { url } = good
    expect(await host.look(crew, progress, never)).toEqual({ condition: 'online', url })
    expect(await programsOf(crews)).toEqual([])
    if (process.platform === 'linux') expect(await programsOf([crew])).not.toEqual([])
  })

  it('say what is missing where there is no Python', async () => {
    const host = openHost({ machine: { PATH: platform.root } })
    const { outcome } = await bringUp(host, wantedCrew(plainProject(shouter('Hello'))))
    expect(outcome).toMatchObject({
      outcome: 'failed',
      reason: expect.stringContaining('neither uv nor Python 3.10 or newer'),
    })
  })

  it.runIf(isLong)('leave nothing behind when they are given up in the middle', async () => {
    const host = openHost()
    const stop = new AbortController()
    const crew = wantedCrew(
      plainProject('import time\nprint("here", flush=True)\ntime.sleep(3600)\n'),
    )
    let told = ''
    const log = (_: string, text: string): void => {
      told += text
      if (text.includes('here')) stop.abort(new Error('given up'))
    }
    const giving = host.bringUp(crew, { state: () => {}, log }, stop.signal)
    await expect(giving).rejects.toThrow('given up')
    expect(told).toContain('here')
    expect(await host.look(crew, progress, never)).toMatchObject({ isServing: false })
  })

  // The last: it ends the crew of the others.
  it('end for others once these are healthy, and leave them their environment', async () => {
    const { owner } = crew
    const before = good.url
    const second = wantedCrew(plainProject(shouter('Goodbye')), { owner, number: 2 })
    const { outcome, told } = await bringUp(host, second)
    const after = online(outcome)
    expect(told()).toContain('The environment of an earlier deployment is used')
    expect(await ask(before)).toEqual(await ask(after))
    await host.keepOnly(owner, [second.id], never)
    await expect.poll(() => ask(before).catch(() => 'gone'), PATIENCE).toBe('gone')
    const folders = () => readdir(join(good.root, `automation-${owner.deploymentId}`))
    const ofSecond = expect.stringMatching(`^deployment-${second.id}-`)
    await expect.poll(folders, PATIENCE).toEqual([ofSecond, 'venvs'])
    await host.remove(owner, never)
    await expect(ask(after)).rejects.toThrow('fetch failed')
    await expect(folders()).rejects.toThrow('ENOENT')
  })
})
