import { execFileSync, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { freePort } from '../../../../support/free-port.ts'
import { programPath } from '../../../../support/program.ts'
import { until } from '../../../../support/until.ts'
import { openPlatformWithOauth, newCaller } from '../../support/platform-with-oauth.ts'
import type { PlatformWithOauth } from '../../support/platform-with-oauth.ts'
import { environment } from '../../support/platform.ts'

let oauth: PlatformWithOauth
let child: ChildProcess | undefined
const directory = mkdtempSync(join(tmpdir(), 'pool-'))

beforeAll(async () => {
  oauth = await openPlatformWithOauth()
})

afterAll(async () => {
  child?.kill('SIGKILL')
  await oauth.close()
  rmSync(directory, { recursive: true })
})

it('J37 tokens are checked while a dead name server hangs four threads of the pool', async () => {
  const pipes = [1, 2, 3, 4].map((number) => join(directory, `pipe-${number}`))
  execFileSync('sh', ['-c', 'mkfifo "$@"', 'sh', ...pipes])
  // Opening a pipe that nobody writes to holds a thread for good.
  const hang = join(directory, 'hang.mjs')
  writeFileSync(
    hang,
    `import { open } from 'node:fs'\n` +
      `for (const pipe of ${JSON.stringify(pipes)}) open(pipe, 'r', () => {})\n`,
  )
  const port = String(await freePort())
  const env = {
    ...environment(oauth.url),
    PORT: port,
    LOG_LEVEL: 'silent',
    AUTOMATION_OAUTH_PRIVATE_ORIGINS: oauth.idp.issuer,
    // As every manifest sets it.
    UV_THREADPOOL_SIZE: '16',
  }
  child = spawn(process.execPath, ['--import', hang, programPath('web')], {
    env,
    stdio: 'inherit',
  })
  const url = `http://127.0.0.1:${port}`
  await until(async () => (await fetch(`${url}/health`).catch(() => undefined))?.status === 200)
  const api = oauth.api('inputs').replace(oauth.service.url, url)
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, jti) =>
      fetch(api, { headers: newCaller(oauth.token({ jti })), signal: AbortSignal.timeout(40_000) }),
    ),
  )
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
})
