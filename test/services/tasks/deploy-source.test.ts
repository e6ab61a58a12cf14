import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { appendCrewLog } from '../../../services/platform/crews/crew-logs.ts'
import { releaseCrew, takeCrew } from '../../../services/platform/crews/crew-leases.ts'
import { reportCrew } from '../../../services/platform/crews/crew-reports.ts'
import type { CrewReport } from '../../../services/platform/crews/crew-reports.ts'
import { createLog } from '../../../services/shared/log.ts'
import { deployDirectory } from '../../../services/tasks/deploy-source/deploy-directory.ts'
import { readDeployRequest } from '../../../services/tasks/deploy-source/options.ts'
import { start } from '../../../services/web/start.ts'
import { environment, openPlatform } from '../web/support/platform.ts'
import type { Platform } from '../web/support/platform.ts'

let platform: Platform
let web: Awaited<ReturnType<typeof start>>
let token: string
let directory: string
/** What a worker finds out about the next deployment; nothing: it looks away. */
let outcome: CrewReport | undefined

beforeAll(async () => {
  platform = await openPlatform()
  token = await platform.issueToken(platform.acme)
  web = await start(environment(platform.url), {
    log: createLog({ name: 'test', level: 'silent' }),
  })
  await platform.sql.listen('crew_deployments', () => void work())
})
afterAll(async () => {
  await web.stop()
  await platform.close()
})
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'deploy-'))
  await write({ 'pyproject.toml': '[project]\n', 'src/crew.py': '@CrewBase\nclass A: ...\n' })
  return () => rm(directory, { recursive: true })
})

async function write(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(directory, path)), { recursive: true })
    await writeFile(join(directory, path), content)
  }
}

/** Stands in for the worker. */
async function work(): Promise<void> {
  for (;;) {
    const lease = outcome && (await takeCrew(platform.sql))
    if (!lease || !outcome) return
    const { wanted } = lease
    if (wanted) {
      const { id } = wanted
      await appendCrewLog(platform.sql, { crewDeploymentId: id, stream: 'build' }, 'Installed 3\n')
      await reportCrew(platform.sql, { lease, crewDeploymentId: id }, outcome)
    }
    await releaseCrew(platform.sql, lease, 3600)
  }
}

async function deploy(...args: readonly string[]) {
  const all = [directory, '--to', web.url, '--create', `Crew ${Math.random()}`, ...args]
  const request = readDeployRequest(all, { PLATFORM_TOKEN: token })
  if (!request) throw new Error('it asks for help')
  const [results, progress]: [string[], string[]] = [[], []]
  const code = await deployDirectory(request, {
    result: (text) => void results.push(text),
    progress: (text) => void progress.push(text),
  })
  return { code, result: results.join('\n'), progress: progress.join('\n') }
}

describe('the task automations:deploy', () => {
  it('sends a directory, shows the build, and ends when the crew is online', async () => {
    outcome = { state: 'Crew is Online', url: 'http://127.0.0.1:9' }
    await write({ '.env': 'KEY=secret', '.venv/a.py': 'x', 'src/__pycache__/a.pyc': 'x' })
    await symlink('/usr/bin/python3', join(directory, '.venv/python'))
    const done = await deploy()
    expect([done.code, done.result]).toEqual([0, 'Deployment 1: Crew is Online.'])
    expect(done.progress).toMatch(
      /Sending 2 files.*Created http.*Deployment 1: Waiting.*Installed 3/s,
    )
    const [source] = await platform.sql`select file_count from sources`
    expect(source).toEqual({ fileCount: 2 })
    const { code, result } = await deploy('--json')
    expect([code, JSON.parse(result)]).toMatchObject([0, { number: 1, state: 'Crew is Online' }])
  })

  it('ends with 2 when the crew fails, or the source is refused', async () => {
    outcome = { state: 'Crew has Failed', reason: 'There is no package crewia.' }
    const failed = await deploy()
    expect([failed.code, failed.result]).toEqual([
      2,
      'Deployment 1: Crew has Failed. There is no package crewia.',
    ])
    await rm(join(directory, 'pyproject.toml'))
    const refused = await deploy('--json')
    expect(refused.code).toBe(2)
    expect(JSON.parse(refused.result)).toEqual({
      error: expect.stringContaining('has no pyproject.toml'),
    })
    await symlink('/etc/passwd', join(directory, 'link'))
    expect((await deploy()).result).toMatch(/"link" in the archive is a link/)
  })

  it('does not wait when it is told so', async () => {
    outcome = undefined
    const sent = await deploy('--timeout', '0')
    expect([sent.code, sent.result]).toEqual([0, 'Deployment 1: Waiting.'])
  })

  it('says what is wrong with how it is called', async () => {
    const read = (args: readonly string[], PLATFORM_TOKEN: string | undefined = 'pat_x') =>
      readDeployRequest(args, { PLATFORM_TOKEN })
    expect(read(['--help'])).toBeUndefined()
    expect(() => read([])).toThrow(/Name one directory/)
    expect(() => read(['.', '--to', 'https://a.example'])).toThrow(/--to is the address of an/)
    expect(() => read(['.', '--create', 'A', '--to', 'a'])).toThrow(/address of the platform/)
    expect(() => read(['.', '--timeout', 'x'])).toThrow(/--timeout is a number/)
    expect(() => readDeployRequest(['.'], {})).toThrow(/PLATFORM_TOKEN/)
    const other = readDeployRequest(['.', '--to', web.url, '--create', 'A'], {
      PLATFORM_TOKEN: 'pat_unknown',
    })
    const silent = { result: () => {}, progress: () => {} }
    if (!other) throw new Error('it asks for help')
    await expect(deployDirectory({ ...other, directory }, silent)).rejects.toThrow(
      /token that is good for your whole organization/,
    )
  })
})
