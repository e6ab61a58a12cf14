import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readOptions } from '../../../services/local/options.ts'
import { readSecrets, writeSecrets } from '../../../services/local/secrets.ts'
import { describeSummary } from '../../../services/local/summary.ts'

describe('the options of npm start', () => {
  it('have defaults', () => {
    expect(readOptions([])).toEqual({
      json: false,
      help: false,
      directory: '.data',
      portBase: 4300,
      withIdp: false,
    })
  })

  it('can ask for an identity provider', () => {
    expect(readOptions(['--with-idp'])).toMatchObject({ withIdp: true })
  })

  it('are read', () => {
    const args = ['--json', '--data', '/tmp/x', '--port-base', '5000']
    expect(readOptions(args)).toEqual({
      json: true,
      help: false,
      directory: '/tmp/x',
      portBase: 5000,
      withIdp: false,
    })
  })

  it.each([
    [['--port-base', 'x'], '--port-base must be a number between 1024 and 65500 (given: x)'],
    [['--prot-base', '1'], "Unknown option '--prot-base'"],
    [['--data'], "Option '--data <value>' argument missing"],
  ])('are refused with the usage: %j', (args, message) => {
    expect(() => readOptions(args)).toThrow(message)
  })
})

describe('the secrets of a data directory', () => {
  it('are made once, kept, and readable by their owner only', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'secrets-'))
    const secrets = await readSecrets(directory)
    expect(await readSecrets(directory)).toEqual(secrets)
    await writeSecrets(directory, { ...secrets, staticToken: 't' })
    expect(await readSecrets(directory)).toEqual({ ...secrets, staticToken: 't' })
    expect((await stat(join(directory, 'secrets.json'))).mode & 0o777).toBe(0o600)
    await rm(directory, { recursive: true })
  })

  it('are never made anew over a damaged file', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'secrets-'))
    await writeFile(join(directory, 'secrets.json'), '{"secretKeyBase": "x"')
    await expect(readSecrets(directory)).rejects.toThrow('secrets.json is damaged')
    await rm(directory, { recursive: true })
  })
})

describe('what npm start prints', () => {
  it('quotes inputs so that the line works as pasted', () => {
    const text = describeSummary(
      {
        web_url: 'http://w',
        collector_url: 'http://c',
        collector_grpc_url: 'http://g',
        metrics_url: 'http://m',
        oauth_url: 'http://o',
        api_prefix: 'platform',
        automation_id: 'a',
        organization: '2',
        static_token: 't',
        debug_token: 'd',
        collector_jwt_secret: 's',
        admin_email: 'e',
        admin_password: 'p',
        database_url: 'u',
        collector_database_url: 'v',
        env_file: '.data/platform.env',
      },
      { q: "it's" },
    )
    expect(text).toContain(String.raw`-d '{"inputs":{"q":"it'\''s"}}'`)
    expect(text).toContain('http://w/platform/api/v1/crew/a/kickoff')
  })
})
